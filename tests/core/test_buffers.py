"""What one fit has touched is the next one's; what is in use is nobody else's."""

import gc
import threading

import numpy as np
import pytest

from mpu_bench.core import buffers

LARGE, DTYPE = 1 << 23, np.dtype(np.float32)  # 32 MB


@pytest.fixture(autouse=True)
def _nothing_kept():
    gc.collect()
    buffers.release()
    yield
    buffers.release()


def address(array):
    return array.__array_interface__["data"][0]


def test_memory_is_used_again_once_nobody_sees_it():
    array = buffers.empty((LARGE // 4, 4), DTYPE)
    first, view = address(array), array[100:200, 1]
    view[:] = 7
    del array
    other = buffers.empty((LARGE,), DTYPE)
    assert address(other) != first
    other[:] = 1
    assert (view == 7).all()
    del view
    again = buffers.empty((LARGE - 5,), DTYPE)
    assert address(again) == first
    assert again.shape == (LARGE - 5,)
    assert again.flags.c_contiguous
    assert again.flags.writeable


def test_a_smaller_one_takes_what_a_larger_one_has_left():
    first = address(buffers.empty((LARGE,), np.dtype(np.float64)))
    assert address(buffers.empty((LARGE,), DTYPE)) == first


def test_small_ones_are_zeros():
    assert not buffers.empty((3, 5), DTYPE).any()


def test_what_is_kept_has_a_bound():
    for size in (1 << 27, 1 << 28, 1 << 31, 1 << 29, 1 << 30):
        buffers.empty((size,), np.dtype(np.uint8))  # nothing of it is touched
    assert 0 < sum(map(len, buffers._kept)) <= buffers._MAX_KEPT
    buffers.release()
    assert not buffers._kept


def test_threads_do_not_share():
    wrong = []

    def use(number):
        for _ in range(20):
            array = buffers.empty((LARGE // 2,), DTYPE)
            array[::100_000] = number
            wrong.append((array[::100_000] != number).any())
            del array

    threads = [threading.Thread(target=use, args=(number,)) for number in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not any(wrong)


def test_what_the_system_has_not_is_an_error():
    with pytest.raises(MemoryError):
        buffers.empty((1 << 50,), DTYPE)
