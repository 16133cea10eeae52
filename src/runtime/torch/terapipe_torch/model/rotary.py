"""Rotary positions by absolute position, so that a slice is rotated as it is in the whole sequence."""

from __future__ import annotations

import math

import torch

from terapipe_torch.model.spec import RopeScaling, Rotary

scaling_kinds = ("default", "linear", "llama3", "yarn")


class RotaryTable:
    """Frequencies of `size` elements of a head (an even number), scaled as Hugging Face's Transformers do."""

    def __init__(self, rotary: Rotary, size: int, interleaved: bool) -> None:
        self.size, self.interleaved = size, interleaved
        exponents = torch.arange(0, size, 2, dtype=torch.float32) / size
        self.frequencies = 1.0 / rotary.base**exponents
        self.magnitude = 1.0
        if rotary.scaling is not None:
            self.frequencies, self.magnitude = _scaled(self.frequencies, rotary, rotary.scaling, size)

    def angles(self, positions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Cosines and sines [tokens, size / 2] of positions [tokens], in fp32."""
        # kept on the device: a copy in every pass would make the CPU wait for the GPU
        self.frequencies = self.frequencies.to(positions.device)
        angle = torch.outer(positions.float(), self.frequencies)
        return angle.cos() * self.magnitude, angle.sin() * self.magnitude

    def rotate(self, x: torch.Tensor, angles: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        """x [batch, heads, tokens, head size]: its first `size` elements are rotated, in fp32."""
        cos, sin = angles
        turned, kept = x[..., : self.size].float(), x[..., self.size :]
        if self.interleaved:
            first, second = turned[..., 0::2], turned[..., 1::2]
            pairs = torch.stack((first * cos - second * sin, second * cos + first * sin), -1)
            turned = pairs.flatten(-2)
        else:
            first, second = turned.chunk(2, -1)
            turned = torch.cat((first * cos - second * sin, second * cos + first * sin), -1)
        return torch.cat((turned.to(x.dtype), kept), -1)


def _scaled(frequencies: torch.Tensor, rotary: Rotary, scaling: RopeScaling, size: int) -> tuple[torch.Tensor, float]:
    factor = scaling.factor or 1.0
    if scaling.kind == "default":
        return frequencies, 1.0
    if scaling.kind == "linear":
        return frequencies / factor, 1.0
    if scaling.kind == "llama3":
        return _llama3(frequencies, scaling, factor), 1.0
    return _yarn(frequencies, rotary.base, scaling, factor, size)


def _llama3(frequencies: torch.Tensor, scaling: RopeScaling, factor: float) -> torch.Tensor:
    """Llama 3.1: long waves are divided, short ones kept, those between blended."""
    low, high = scaling.low_frequency_factor or 1.0, scaling.high_frequency_factor or 4.0
    original = scaling.original_positions or 8192
    turns = original * frequencies / (2 * math.pi)
    share = ((turns - low) / (high - low)).clamp(0, 1)
    return (1 - share) * frequencies / factor + share * frequencies


def _yarn(frequencies: torch.Tensor, base: float, scaling: RopeScaling, factor: float, size: int) -> tuple[torch.Tensor, float]:
    """YaRN (arXiv 2309.00071), with Transformers' rounding and attention factor."""
    original = scaling.original_positions or 4096

    def dimension(turns: float) -> float:
        return size * math.log(original / (turns * 2 * math.pi)) / (2 * math.log(base))

    low, high = dimension(scaling.beta_fast or 32), dimension(scaling.beta_slow or 1)
    if not scaling.is_unrounded:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, size - 1)
    ramp = ((torch.arange(size // 2, dtype=torch.float32) - low) / max(high - low, 0.001)).clamp(0, 1)
    blended = frequencies / factor * ramp + frequencies * (1 - ramp)
    return blended, _yarn_magnitude(scaling, factor)


def _yarn_magnitude(scaling: RopeScaling, factor: float) -> float:
    def magnitude(weight: float) -> float:
        return 1.0 if factor <= 1 else 0.1 * weight * math.log(factor) + 1.0

    if scaling.attention_factor is not None:
        return scaling.attention_factor
    if scaling.mscale and scaling.mscale_all_dim:
        return magnitude(scaling.mscale) / magnitude(scaling.mscale_all_dim)
    return magnitude(1.0)
