"""Linear machines of mpu-2010: the weight vector is kept, a step costs the non-zeros of one row."""
