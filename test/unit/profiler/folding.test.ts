import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import * as ort from 'onnxruntime-node';
import { profiledRun, sessionOptions } from '../../../src/profiler/sessions';
import { timedGraph } from '../../../src/profiler/graph/slice-graph';
import { jobOf, llama } from './graph/run-graph';

describe('weights of a timed graph', () => {
  const job = jobOf(llama());
  const { bytes } = timedGraph(job, 'plain', 'head', 'forward');
  const cell = { batch: 1, tokens: 8, context: 0 };
  const operators = async (runtime: typeof ort): Promise<string[]> => {
    const report = JSON.parse(await profiledRun(runtime, bytes, 'cpu', 1, cell)) as { cat: string; args?: { op_name?: string } }[];
    return report.flatMap(({ cat, args }) => (cat === 'Node' && args?.op_name !== undefined ? [args.op_name] : []));
  };
  /** ONNX Runtime that makes no constant of more than `bytes` beforehand. */
  const limited = (limit: string): typeof ort => ({
    ...ort,
    InferenceSession: {
      create: (model: Uint8Array, options: ReturnType<typeof sessionOptions>) =>
        ort.InferenceSession.create(model, { ...options, extra: { optimization: { constant_folding_max_output_size_in_bytes: limit } } }),
    } as unknown as typeof ort.InferenceSession,
  });

  it('are made before the first run, whatever their size', async () => {
    assert.ok(!(await operators(ort)).includes('Tile'));
    assert.deepEqual(sessionOptions('cpu', 1).extra, { optimization: { constant_folding_max_output_size_in_bytes: '0' } });
  });

  it('are made in every run where they are above the limit of ONNX Runtime, which has 1 GiB by default', async () => {
    assert.ok((await operators(limited('1000'))).includes('Tile'));
    assert.ok(!(await operators(limited('0'))).includes('Tile'));
  });
});
