"""Fuzzing: everything that reads what comes from outside, fed with damaged copies of what it expects.

`registry.targets` lists what is fuzzed; `make fuzz` (scripts/fuzz.py) does it for hours, guided by coverage, and
test_fuzz.py for seconds. What once crashed lies in seeds/TARGET/ and is tried again by every `make test`.
"""
