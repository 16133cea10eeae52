import assert from 'node:assert/strict';
import { failureKind, runBytes, sessionBytes } from '../../../src/profiler/memory';
import { smallJob } from './jobs';

describe('failure of a run', () => {
  for (const [text, kind] of [
    [
      'Non-zero status code returned while running Gemm node. Status Message: bfc_arena.cc:376 AllocateRawInternal Failed to allocate memory for requested buffer of size 2830172160',
      'out-of-memory',
    ],
    ['std::bad_alloc', 'out-of-memory'],
    ['CUDA failure 2: out of memory ; GPU=0 ; hostname=c4 ; expr=cudaMalloc((void**)&p, size);', 'out-of-memory'],
    ['CUBLAS failure 3: CUBLAS_STATUS_ALLOC_FAILED ; GPU=0', 'out-of-memory'],
    ['[E:onnxruntime:Default, webgpu_context.cc:120 operator()] WebGPU device error(2): Out of memory', 'out-of-memory'],
    ['vkAllocateMemory failed with VK_ERROR_OUT_OF_DEVICE_MEMORY', 'out-of-memory'],
    ['onnxruntime.dll Exception(2) tid(35dc) 8007000E Not enough memory resources are available', 'out-of-memory'],
    ['CUDA failure 700: an illegal memory access was encountered ; GPU=0', 'lost'],
    ['CUDA failure 719: unspecified launch failure', 'lost'],
    ['dml Exception(1) tid(93ac) 887A0005 The GPU device instance has been suspended', 'lost'],
    ['WebGPU device lost (1): vkQueueSubmit failed with VK_ERROR_DEVICE_LOST', 'lost'],
    ['Status Message: Attention mask shape mismatch', 'failed'],
    ['CUDA failure 209: no kernel image is available for execution on the device', 'failed'],
  ] as const)
    it(`${text.slice(0, 60)} is ${kind}`, () => {
      assert.equal(failureKind(text), kind);
    });
});

describe('memory of a cell', () => {
  const plain = { ...smallJob, attention: 'plain' } as const;

  it('grows with the square of the slice where probabilities are kept', () => {
    const bytes = (tokens: number) => runBytes(plain, 'layer', 'forward', { batch: 1, tokens, context: 0 });
    const ratio = bytes(65536) / bytes(32768);
    assert.ok(ratio > 3.9 && ratio < 4, String(ratio));
  });

  it('is half in half precision, where gradients are too', () => {
    const half = { ...smallJob, precision: 'fp16', gradAccumulationFp32: false } as const;
    const cell = { batch: 2, tokens: 64, context: 64 };
    assert.equal(runBytes(half, 'layer', 'forward', cell) * 2, runBytes(smallJob, 'layer', 'forward', cell));
    assert.equal(runBytes(half, 'layer', 'backward', cell) * 2, runBytes(smallJob, 'layer', 'backward', cell));
  });

  it('is near to what GPT-2 small was seen to take on the CPU with ONNX Runtime 1.30', () => {
    const shape = { ...smallJob.shape, hidden: 768, heads: 12, kvHeads: 12, headDim: 64, ffn: 3072, vocab: 50257 };
    const cell = { batch: 1, tokens: 1024, context: 1024 };
    const mebibytes = (attention: 'plain' | 'fused', part: 'layer' | 'head', direction: 'forward' | 'backward') =>
      runBytes({ ...smallJob, shape, attention }, part, direction, part === 'head' ? { ...cell, context: 0 } : cell) / 2 ** 20;
    for (const [estimate, seen] of [
      [mebibytes('plain', 'layer', 'forward'), 327],
      [mebibytes('fused', 'layer', 'forward'), 144],
      [mebibytes('plain', 'layer', 'backward'), 331],
      [mebibytes('plain', 'head', 'forward'), 412],
      [mebibytes('plain', 'head', 'backward'), 409],
    ] as const)
      assert.ok(estimate >= seen && estimate < 1.6 * seen, `${estimate} for ${seen}`);
  });

  it('is that of saved probabilities backward with plain attention, and not with fused', () => {
    const limits = { batch: 1, tokens: 8192, sequence: 8192 };
    const probabilities = 2 * 8192 * 8192 * 4;
    const difference = sessionBytes(plain, 'layer', 'backward', limits) - sessionBytes(smallJob, 'layer', 'backward', limits);
    assert.ok(difference > 4 * probabilities && difference <= 5 * probabilities, String(difference / probabilities));
  });
});
