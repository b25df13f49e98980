"""The Margin Perceptron with Unlearning."""
