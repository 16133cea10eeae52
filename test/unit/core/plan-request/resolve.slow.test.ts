import assert from 'node:assert/strict';
import { say } from '../../../../src/core/sentence';
import { loadRun } from '../../../load-run';
import { CancelledError, ExpectedError } from '../../../../src/core/errors';
import type { ResolveDefaults } from '../../../../src/core/plan-request/scenario';
import { resolveRun } from '../../../../src/core/plan-request/resolve';
import type { PlanRequest } from '../../../../src/core/domain/request';
import { toText } from '../../sentence-text';

const llama8b = {
  layers: 32,
  hidden: 4096,
  heads: 32,
  kvHeads: 8,
  ffn: 14336,
  gatedMlp: true,
  vocab: 128256,
  maxPositions: 8192,
};
const defaults: ResolveDefaults = { gpu: 'A100-80GB', nodes: null, gpusPerNode: null };

async function resolved(config: object, face: ResolveDefaults = defaults): Promise<PlanRequest> {
  const run = await loadRun('terapipe.json', JSON.stringify(config), () => Promise.reject(new Error('no other file')));
  return resolveRun(run, face);
}

function assumed(request: PlanRequest): string[] {
  return request.assumptions.map(({ key }) => key);
}

describe('resolving a run', () => {
  it('keeps what the file fixes and assumes nothing about it', async () => {
    const request = await resolved({
      model: llama8b,
      cluster: { gpu: 'H100-80GB', nodes: 2, gpusPerNode: 8 },
      training: { sequenceLength: 8192, microBatch: 2, globalBatch: 64, precision: 'bf16', recompute: 'full' },
      layout: { tensor: 2, pipeline: 4, data: 2 },
      schedule: '1F1B',
    });
    assert.deepEqual(request.layout, { tensor: 2, pipeline: 4, data: 2, context: 1, expert: 1, virtualStages: 1 });
    assert.equal(request.training.globalBatch, 64);
    assert.equal(request.schedule, '1F1B');
    for (const key of ['layout.tensor', 'training.microBatch', 'cluster.nodes', 'cluster.gpu'])
      assert.ok(!assumed(request).includes(key), key);
  });

  it('fills the rest and explains why', async () => {
    const request = await resolved({ model: llama8b });
    for (const key of ['cluster.gpu', 'cluster.nodes', 'layout.tensor', 'training.sequenceLength', 'training.globalBatch']) {
      const assumption = request.assumptions.find((one) => one.key === key);
      assert.ok(toText(assumption?.reason).length > 0, key);
    }
  });

  it('takes the cross entropy and the format of gradients that the runtime has where no file sets it', async () => {
    const training = async (given: object) => {
      const { fusedCrossEntropy, gradAccumulationFp32 } = (await resolved({ model: llama8b, training: given })).training;
      return [fusedCrossEntropy, gradAccumulationFp32];
    };
    assert.deepEqual(await training({}), [true, true]);
    assert.deepEqual(await training({ runtime: 'fsdp1' }), [true, false], "llm-foundry's");
    const titan = { runtime: 'torchtitan', compile: true };
    assert.deepEqual(await training(titan), [false, true], 'of 2024-12, as its constants');
    assert.deepEqual(await training({ ...titan, runtimeVersion: '0.1.0' }), [true, true]);
    assert.deepEqual(await training({ ...titan, runtimeVersion: '2025.06' }), [true, true]);
    assert.deepEqual(await training({ ...titan, runtimeVersion: '24.12' }), [false, true]);
    assert.deepEqual(await training({ ...titan, runtimeVersion: '0.1.0', compile: false }), [false, true]);
    const zero = { runtime: 'deepspeed', precision: 'bf16' };
    assert.deepEqual(await training(zero), [true, true], 'its BF16_Optimizer');
    assert.deepEqual(await training({ ...zero, zeroStage: 1 }), [true, false]);
    assert.deepEqual(await training({ ...zero, precision: 'fp16' }), [true, false]);
  });

  it("takes Transformers' cross entropy under DeepSpeed where the model is one of Transformers", async () => {
    const config = JSON.stringify({ model_type: 'gpt2', n_layer: 2, n_embd: 64, n_head: 4, n_positions: 128, vocab_size: 256 });
    const text = JSON.stringify({ model: 'config.json', training: { runtime: 'deepspeed' } });
    const run = await loadRun('terapipe.json', text, () => Promise.resolve({ file: 'config.json', text: config }));
    assert.equal(resolveRun(run, defaults).training.fusedCrossEntropy, false);
  });

  it('takes a ring for context parallelism where no file sets how it exchanges and the heads are too few for all-to-all', async () => {
    const comm = async (layout: object, training: object = {}): Promise<readonly [string | undefined, boolean]> => {
      const request = await resolved({
        model: llama8b,
        cluster: { gpu: 'H100-80GB', nodes: 2, gpusPerNode: 8 },
        training: { sequenceLength: 65536, globalBatch: 16, ...training },
        layout: { pipeline: 1, ...layout },
      });
      return [request.training.contextParallelComm, assumed(request).includes('training.contextParallelComm')];
    };
    const many = { tensor: 2, context: 8, data: 1 };
    assert.deepEqual(await comm(many), ['ring', true]);
    assert.deepEqual(await comm(many, { contextParallelComm: 'all-to-all' }), ['all-to-all', false]);
    assert.deepEqual(await comm(many, { runtime: 'torchtitan' }), [undefined, false]);
    assert.deepEqual(await comm({ tensor: 2, context: 4, data: 2 }), [undefined, false]);
    assert.deepEqual(await comm({ tensor: 8, context: 1, data: 2 }), [undefined, false]);
  });

  it('takes enough nodes for the layout that the experts are shared out evenly', async () => {
    const moe = { ...llama8b, layers: 16, experts: 8, activeExperts: 2 };
    const nodesOf = async (layout: object) => {
      const { cluster, layout: chosen } = await resolved({ model: moe, layout });
      assert.equal((chosen.data * chosen.context * chosen.tensor) % ((chosen.expertTensor ?? chosen.tensor) * chosen.expert), 0);
      return cluster.nodes;
    };
    assert.equal(await nodesOf({ tensor: 2, pipeline: 8 }), 2);
    assert.equal(await nodesOf({ tensor: 2, pipeline: 8, expert: 8, expertTensor: 2 }), 16);
    assert.equal(await nodesOf({ tensor: 2, pipeline: 8, expert: 8 }), 8, 'whole experts');
    assert.equal(await nodesOf({ tensor: 2, pipeline: 8, expert: 8, expertTensor: 1 }), 8);
    assert.equal(await nodesOf({ tensor: 1, pipeline: 4, context: 2, expert: 8 }), 4);
  });

  it('uses all GPUs of the cluster with a layout that divides heads and layers', async () => {
    for (const nodes of [1, 2, 4]) {
      const { layout } = await resolved({ model: llama8b, cluster: { gpu: 'A100-40GB', nodes } });
      assert.equal(layout.tensor * layout.pipeline * layout.data, 8 * nodes);
      assert.equal(32 % layout.pipeline, 0);
    }
  });

  it('chooses more model parallelism for a model that does not fit otherwise', async () => {
    const size = ({ layout }: PlanRequest) => layout.tensor * layout.pipeline;
    const small = await resolved({ model: llama8b, cluster: { gpu: 'A100-80GB', nodes: 4 } });
    const large = await resolved({
      model: { ...llama8b, layers: 80, hidden: 8192, heads: 64, ffn: 28672 },
      cluster: { gpu: 'A100-80GB', nodes: 4 },
    });
    assert.ok(size(large) > size(small));
  });

  it('takes enough nodes for a layout that is fixed', async () => {
    const { cluster } = await resolved({ model: llama8b, layout: { tensor: 8, pipeline: 4, data: 2 } });
    assert.equal(cluster.nodes, 8);
  });

  it('shows for GPUs that are fewer than a replica has that they are, not what is left of them', async () => {
    const reason = async (pipeline: number): Promise<string> => {
      const { assumptions } = await resolved({ model: llama8b, cluster: { gpu: 'H100-80GB', nodes: 1 }, layout: { tensor: 8, pipeline } });
      const found = assumptions.find(({ key }) => key === 'layout.data');
      return found === undefined ? '' : say(found.reason);
    };
    assert.equal(await reason(16), 'one replica: it has 128 GPUs, more than the 8 there are');
    assert.equal(await reason(1), 'what is left of 8 GPUs');
  });

  it('keeps one copy of FP8 weights where the GPU takes them either way round and a tensor has one scale', async () => {
    const copies = async (gpu: string, fp8Recipe: string) =>
      (await resolved({ model: llama8b, cluster: { gpu, nodes: 1 }, training: { gemmPrecision: 'fp8', fp8Recipe } })).training.narrowCopies;
    assert.equal(await copies('B200', 'tensorwise'), 1);
    assert.equal(await copies('B200', 'mxfp8'), undefined);
    assert.equal(await copies('H100-80GB', 'tensorwise'), undefined);
  });

  it('keeps weights only in FP8 as recipes do: not with scales of blocks of 128, nor under another runtime', async () => {
    const onlyFp8 = async (fp8Recipe: string, over: object = {}): Promise<boolean | undefined> => {
      const training = { gemmPrecision: 'fp8', fp8Recipe, ...over };
      return (await resolved({ model: llama8b, cluster: { gpu: 'H100-80GB', nodes: 1 }, training })).training.fp8ParamGather;
    };
    assert.equal(await onlyFp8('tensorwise'), true);
    assert.equal(await onlyFp8('blockwise'), false);
    assert.equal(await onlyFp8('blockwise', { fp8ParamGather: true }), true);
    assert.equal(await onlyFp8('tensorwise', { runtime: 'torchtitan' }), undefined);
  });

  it('falls back to fp16 and unfused attention on a V100', async () => {
    const { training } = await resolved({ model: llama8b, cluster: { gpu: 'V100-32GB' } });
    assert.equal(training.precision, 'fp16');
    assert.equal(training.attention, 'unfused');
  });

  it('plans bf16 the same however fast fp16 is', async () => {
    const faster = { preset: 'H100-80GB', peakTflops: { fp16: 5000 } };
    const [usual, fast] = await Promise.all(
      ['H100-80GB', faster].map((gpu) => resolved({ model: llama8b, cluster: { gpu, nodes: 1 }, training: { precision: 'bf16' } })),
    );
    assert.deepEqual(fast?.training, usual?.training);
    assert.equal(fast?.training.attention, 'flash');
  });

  it('assumes the fewest nodes on which a model fits when nothing shows how many there are', async () => {
    const large = { ...llama8b, layers: 80, hidden: 8192, heads: 64, ffn: 28672 };
    const [small, big] = [await resolved({ model: llama8b }), await resolved({ model: large })];
    assert.equal(small.cluster.nodes, 1);
    assert.ok(big.cluster.nodes > 1);
  });

  it("takes the face's default cluster when no file names one", async () => {
    const { cluster } = await resolved({ model: llama8b }, { gpu: 'H200', nodes: 3, gpusPerNode: 4 });
    assert.deepEqual([cluster.gpu.name, cluster.nodes, cluster.gpusPerNode], ['H200', 3, 4]);
  });

  it('refuses sizes that cannot use the GPUs there are', async () => {
    await assert.rejects(
      resolved({ model: llama8b, cluster: { gpu: 'H100-80GB', nodes: 1 }, layout: { tensor: 8, data: 3 } }),
      (error) => error instanceof ExpectedError && error.code === 'layout-world-size',
    );
  });

  it('assumes sequence parallelism with tensor parallelism only', async () => {
    const unsplit = await resolved({ model: llama8b, layout: { tensor: 1, pipeline: 8 } });
    const split = await resolved({ model: llama8b, layout: { tensor: 8, pipeline: 1 } });
    assert.deepEqual([unsplit.training.sequenceParallel, split.training.sequenceParallel], [false, true]);
  });

  it('takes the number of stages from their layers, and refuses others where they are written', async () => {
    const cluster = { gpu: 'A100-80GB', nodes: 1 };
    const { layout } = await resolved({ model: llama8b, cluster, layout: { stageLayers: [7, 9, 9, 7] } });
    assert.deepEqual([layout.pipeline, layout.tensor * layout.data, layout.stageLayers], [4, 2, [7, 9, 9, 7]]);
    const virtual = await resolved({ model: llama8b, cluster, layout: { virtualStages: 2, stageLayers: [7, 9, 9, 7] } });
    assert.equal(virtual.layout.pipeline, 2);
    const chunked = await resolved({
      model: llama8b,
      cluster,
      layout: { pipeline: 2, stageLayers: [0, 16, 16, 0] },
      schedule: 'ZBVZeroBubble',
    });
    assert.equal(chunked.layout.virtualStages, 2);
    const written = { model: llama8b, cluster, layout: { pipeline: 2, stageLayers: [7, 9, 9, 7] } };
    await assert.rejects(resolved(written), (error) => {
      assert.ok(error instanceof ExpectedError);
      assert.equal(error.code, 'plan-stage-layers');
      const { start, end } = error.place!.range;
      assert.equal(JSON.stringify(written).slice(start, end), '[7,9,9,7]');
      return true;
    });
  });

  const nodes = { nodes: 1, gpusPerNode: 8 };
  const searched = {
    'a layout on the fewest nodes': { model: { ...llama8b, layers: 80, hidden: 8192, heads: 64 } },
    'a layout on nodes of two kinds': {
      model: llama8b,
      layout: { tensor: 4, data: 1 },
      cluster: {
        groups: [
          { gpu: 'A100-80GB', ...nodes },
          { gpu: 'V100-32GB', ...nodes },
        ],
      },
    },
    'an efficiency that gives a measured step': {
      model: llama8b,
      cluster: { gpu: 'A100-80GB', nodes: 1 },
      layout: { tensor: 2, pipeline: 4, data: 1 },
      training: { globalBatch: 16 },
      calibration: { iterationMs: 12_000 },
    },
  };
  for (const [what, config] of Object.entries(searched))
    it(`looks for ${what} until it is cancelled, at each candidate`, async () => {
      const run = await loadRun('terapipe.json', JSON.stringify(config), () => Promise.reject(new Error('no other file')));
      const lookedUntil = (last: number): number => {
        let looks = 0;
        const signal = {
          get aborted() {
            looks++;
            return looks > last;
          },
        };
        if (last === Infinity) assert.deepEqual(resolveRun(run, defaults, [], signal), resolveRun(run, defaults));
        else assert.throws(() => resolveRun(run, defaults, [], signal), CancelledError);
        return looks;
      };
      const looks = lookedUntil(Infinity);
      assert.ok(looks >= 22, String(looks));
      for (const last of [0, 10, looks - 1]) assert.equal(lookedUntil(last), last + 1, 'nothing continues after the signal');
    });

  it('looks at no layout where the files give its sizes', async () => {
    const config = { model: llama8b, cluster: { gpu: 'A100-80GB', nodes: 1 }, layout: { tensor: 2, pipeline: 4 } };
    const run = await loadRun('terapipe.json', JSON.stringify(config), () => Promise.reject(new Error('no other file')));
    const signal = {
      get aborted(): boolean {
        throw new Error('a layout is looked at');
      },
    };
    const { layout } = resolveRun(run, defaults, [], signal);
    assert.deepEqual(layout, { tensor: 2, pipeline: 4, data: 1, context: 1, expert: 1, virtualStages: 1 });
  });
});
