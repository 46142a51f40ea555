"""Stands for Hugging Face's package, which ring_flash_attn imports and no test uses."""
