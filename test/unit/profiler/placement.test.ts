import assert from 'node:assert/strict';
import { placedOperators } from '../../../src/profiler/placement';
import { deviceWarnings, placementWarnings } from '../../../src/profiler/providers';

/** As ONNX Runtime 1.30.0 writes one, less what is not read. */
const event = (operator: string, provider: string, type: string, extents: readonly number[], name = `${operator}.1`) => ({
  cat: 'Node',
  pid: 1589,
  tid: 1589,
  dur: 51,
  ts: 15563,
  ph: 'X',
  name: `${name}_kernel_time`,
  args: { op_name: operator, provider: `${provider}ExecutionProvider`, output_type_shape: [{ [type]: extents }], node_index: '0' },
});

const report = [
  { cat: 'Session', name: 'model_run', args: {} },
  event('Gemm', 'WebGpu', 'float', [16, 64]),
  event('Gemm', 'WebGpu', 'float', [16, 256], 'Gemm.2'),
  event('Concat', 'CPU', 'int64', [2]),
  event('Mul', 'CPU', 'float', []),
  event('Where', 'CPU', 'float', [16, 64]),
  event('LogSoftmax', 'CPU', 'float', [16, 100]),
  event('LogSoftmax', 'CPU', 'float', [16, 100], 'LogSoftmax.2'),
  { ...event('Gemm', 'CPU', 'float', [16, 64]), name: 'Gemm.1_fence_before' },
];
const placed = placedOperators(JSON.stringify(report), 'head', 'forward', 16 * 64);

describe('placement of nodes', () => {
  it('counts the nodes of each operator on each provider', () => {
    const found = placed.map(({ operator, provider, nodes, heavy }) => `${operator} ${provider} ${nodes}${heavy ? ' heavy' : ''}`);
    assert.deepEqual(found, [
      'Gemm WebGpuExecutionProvider 2 heavy',
      'Concat CPUExecutionProvider 1',
      'Mul CPUExecutionProvider 1',
      'Where CPUExecutionProvider 1 heavy',
      'LogSoftmax CPUExecutionProvider 2 heavy',
    ]);
    assert.ok(placed.every(({ part, direction }) => part === 'head' && direction === 'forward'));
  });

  it('warns of heavy nodes that a GPU provider left to the CPU, by name and number', () => {
    const [warning = '', ...more] = placementWarnings('webgpu', placed);
    assert.deepEqual(more, []);
    assert.match(warning, /^WebGPU left 3 heavy nodes to the CPU \(LogSoftmax x 2, Where\): /);
  });

  it('warns of TF32 for fp32, which a trainer leaves off', () => {
    const gpu = { kind: 'gpu', name: 'NVIDIA H200', memoryBytes: null, driver: null } as const;
    assert.match(deviceWarnings(gpu, true).join(), /ran in TF32/);
    for (const off of [false, null]) assert.deepEqual(deviceWarnings(gpu, off), []);
  });

  it('does not warn of shape arithmetic, nor of the CPU on the CPU', () => {
    assert.deepEqual(
      placementWarnings(
        'webgpu',
        placed.filter(({ operator }) => ['Gemm', 'Concat', 'Mul'].includes(operator)),
      ),
      [],
    );
    assert.deepEqual(placementWarnings('cpu', placed), []);
  });

  it('refuses a file that is none', () => {
    assert.throws(() => placedOperators('{}', 'layer', 'forward', 1));
  });
});
