/**
 * Written by `npm run fit -- --write` (docs/model/time.md, Fit): fractions of the peak and factors of them, give or take `percent` (one
 * standard deviation), by `rows` measured runs of `sources`.
 */
export const fittedRates = {
  A100: {
    gemmEfficiency: {
      value: 0.964,
      percent: 1,
      rows: 253,
      sources: ['vTrain', 'PTD-P', '2205.05198', 'MPT', 'TorchTitan', 'BLOOM', 'zero bubble', 'Seq1F1B', 'InternEvo'],
    },
    deepspeed: {
      value: 0.855,
      percent: 1,
      rows: 87,
      sources: ['BLOOM'],
    },
    flash1: {
      value: 0.316,
      percent: 1,
      rows: 34,
      sources: ['MPT'],
    },
    flash2: {
      value: 0.488,
      percent: 4,
      rows: 17,
      sources: ['TorchTitan', 'Seq1F1B', 'InternEvo'],
    },
    cudnn: {
      value: 0.387,
      percent: 8,
      rows: 0,
      sources: [],
    },
  },
  H100: {
    gemmEfficiency: {
      value: 0.858,
      percent: 1,
      rows: 160,
      sources: ['Megatron-Bridge', 'MPT', 'TorchTitan', 'NeMo', 'DGX Cloud'],
    },
    fp8: {
      value: 0.891,
      percent: 2,
      rows: 62,
      sources: ['Megatron-Bridge', 'MPT', 'NeMo', 'DGX Cloud'],
    },
    fp8Torchao: {
      value: 1.09,
      percent: 4,
      rows: 13,
      sources: ['TorchTitan'],
    },
    fsdp1: {
      value: 0.894,
      percent: 2,
      rows: 35,
      sources: ['MPT'],
    },
    torchtitan: {
      value: 0.951,
      percent: 4,
      rows: 20,
      sources: ['TorchTitan'],
    },
    flash2: {
      value: 0.177,
      percent: 2,
      rows: 82,
      sources: ['MPT', 'TorchTitan', 'DGX Cloud'],
    },
    cudnn: {
      value: 0.326,
      percent: 3,
      rows: 69,
      sources: ['Megatron-Bridge', 'NeMo', 'DGX Cloud'],
    },
    flash3: {
      value: 0.359,
      percent: 10,
      rows: 0,
      sources: [],
    },
  },
  B200: {
    gemmEfficiency: {
      value: 0.513,
      percent: 3,
      rows: 27,
      sources: ['SimuMax', 'Megatron-Bridge', 'NeMo'],
    },
    fp8: {
      value: 1.24,
      percent: 8,
      rows: 4,
      sources: ['Megatron-Bridge'],
    },
    fp8Tensorwise: {
      value: 1.29,
      percent: 7,
      rows: 3,
      sources: ['NeMo'],
    },
  },
  B300: {
    gemmEfficiency: {
      value: 0.528,
      percent: 10,
      rows: 7,
      sources: ['Megatron-Bridge'],
    },
    fp8: {
      value: 1.38,
      percent: 13,
      rows: 7,
      sources: ['Megatron-Bridge'],
    },
    fp8Tensorwise: {
      value: 1.45,
      percent: 14,
      rows: 0,
      sources: [],
    },
  },
  GB200: {
    gemmEfficiency: {
      value: 0.622,
      percent: 2,
      rows: 52,
      sources: ['Megatron-Bridge', 'DGX Cloud'],
    },
    fp8: {
      value: 0.897,
      percent: 4,
      rows: 19,
      sources: ['Megatron-Bridge'],
    },
    fp8Tensorwise: {
      value: 0.939,
      percent: 4,
      rows: 16,
      sources: ['Megatron-Bridge', 'DGX Cloud'],
    },
  },
  GB300: {
    gemmEfficiency: {
      value: 0.643,
      percent: 4,
      rows: 26,
      sources: ['Megatron-Bridge'],
    },
    fp8: {
      value: 1.16,
      percent: 6,
      rows: 17,
      sources: ['Megatron-Bridge'],
    },
    fp8Tensorwise: {
      value: 1.26,
      percent: 6,
      rows: 5,
      sources: ['Megatron-Bridge'],
    },
  },
  Blackwell: {
    nvfp4: {
      value: 0.698,
      percent: 5,
      rows: 9,
      sources: ['Megatron-Bridge'],
    },
    cudnn: {
      value: 0.4,
      percent: 3,
      rows: 88,
      sources: ['SimuMax', 'Megatron-Bridge', 'NeMo', 'DGX Cloud'],
    },
    flash2: {
      value: 0.124,
      percent: 12,
      rows: 0,
      sources: [],
    },
  },
} as const;
