
static number row[COLUMNS];

void setup() { Serial.begin(115200); }

/* Return a whole number as strtol does; end stays at the text of one that int16_t does not hold. */
static inline number read_whole(char *text, char **end)
{
  long value = strtol(text, end, 10);
  if (value < -32768 || value > 32767) *end = text;
  return (number)value;
}

/* Return the next number of a line; after is the character behind it, a comma or the end of the line. */
static number read_number(int *after, bool *is_number)
{
  static char text[32];
  size_t length = 0;
  char *end;
  for (;;) {
    while ((*after = Serial.read()) < 0) ;
    if (*after == ',' || *after == '\n') break;
    if (*after != ' ' && *after != '\r' && length < sizeof text) text[length++] = (char)*after;
  }
  *is_number = length > 0 && length < sizeof text;
  text[*is_number ? length : 0] = 0;
  number value = (number)READ(text, &end);
  *is_number = *is_number && !*end;
  return value;
}

void loop()
{
  long count = 0;
  bool are_numbers = true, is_number;
  int after;
  do {
    number value = read_number(&after, &is_number);
    are_numbers = are_numbers && is_number;
    if (count < COLUMNS) row[count] = value;
    count++;
  } while (after != '\n');
  if (are_numbers && count == COLUMNS) Serial.println(PREDICT(row));
  else Serial.println(WANTED);
}
