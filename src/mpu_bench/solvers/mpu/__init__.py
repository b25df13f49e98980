"""The margin perceptron with unlearning, mpu-2010, and the perceptron with margin."""
