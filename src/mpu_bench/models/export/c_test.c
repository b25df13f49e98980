
#if defined(__arm__) && !defined(__linux__)

/* On a Cortex-M: semihosting writes, and SysTick counts the instructions that qemu -icount shift=0 runs. */
#define SYSTICK ((volatile uint32_t *)0xe000e010)
#define UNUSED 0xa5a5a5a5u /* what the stack is filled with */
#define ENOUGH_TICKS 20000 /* to round by 1 in 10,000 at most */

int main(void);
extern uint32_t _end[];

static void host(int operation, const void *argument)
{
  register int r0 __asm__("r0") = operation;
  register const void *r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}

void board_reset(void)
{
#ifdef __ARM_FP
  *(volatile uint32_t *)0xe000ed88 |= 0xf00000u; /* the floating-point unit is on */
  __asm__ volatile("dsb\n isb");
#endif
  host(0x18, (const void *)(main() ? 0x20023 : 0x20026));
  for (;;) ;
}

__attribute__((section(".vectors"))) void (*const board_vectors[16])(void) = {(void (*)(void))STACK_TOP, board_reset};

#ifdef ONE_ROW

/* What a device needs: a row and its prediction, nothing else. */
static number row[COLUMNS];
volatile int label;

int main(void)
{
  label = PREDICT(row);
  return 0;
}

#else

static void say(const char *text) { host(0x04, text); }

__attribute__((naked, noinline)) static int nothing(const number *row) { __asm__("bx lr"); }

static uint32_t ticks(int (*predict)(const number *), uint32_t times)
{
  uint32_t i, before, total = 0;
  while (times--) {
    before = SYSTICK[2];
    for (i = 0; i < ROWS; i++) predict(rows[i]);
    total += (before - SYSTICK[2]) & 0xffffff;
  }
  return total;
}

static uint32_t instructions(void)
{
  uint32_t all, times = 1;
  SYSTICK[1] = 0xffffff;
  SYSTICK[2] = 0;
  SYSTICK[0] = 5;
  while ((all = ticks(PREDICT, times)) < ENOUGH_TICKS) times *= 4;
  all -= ticks(nothing, times);
  return (uint32_t)(((uint64_t)all * TENTHS_PER_TICK / (10 * ROWS) + times / 2) / times) + 1; /* 1: of nothing */
}

static uint32_t stack(void)
{
  uint32_t i, *low, *high;
  __asm__ volatile("mov %0, sp" : "=r"(high));
  for (low = _end; low < high; low++) *(volatile uint32_t *)low = UNUSED;
  for (i = 0; i < ROWS; i++) PREDICT(rows[i]);
  for (low = _end; low < high && *(volatile uint32_t *)low == UNUSED; low++) ;
  return (uint32_t)(high - low) * 4;
}

#endif
#else

#include <stdio.h>

static void say(const char *text) { fputs(text, stdout); }

#endif
#ifndef ONE_ROW

static void say_number(uint32_t value)
{
  char text[11], *first = text + sizeof text - 1;
  *first = 0;
  do *--first = (char)('0' + value % 10); while (value /= 10);
  say(first);
}

int main(void)
{
  uint32_t i, differ = 0;
  for (i = 0; i < ROWS; i++) differ += PREDICT(rows[i]) != labels[i];
  say_number(ROWS);
  say(" rows; labels that differ from Python's: ");
  say_number(differ);
#ifdef STACK_TOP
  say("; bytes of stack: ");
  say_number(stack());
  say("; instructions of a prediction: ");
  say_number(instructions());
#endif
  say("\n");
  return differ > 0;
}

#endif
