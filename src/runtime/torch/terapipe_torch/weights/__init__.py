"""Weights from and to safetensors, in the names of Hugging Face's Transformers."""
