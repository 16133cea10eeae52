import assert from 'node:assert/strict';
import { gpuPresets } from '../../../../src/core/cluster/presets';
import { allReduceSeconds, allToAllSeconds, gatherSeconds, nodeBusBandwidth } from '../../../../src/core/time-model/collectives';
import { deviceRates, type CostInputs } from '../../../../src/core/time-model/rates';
import { splitLike } from '../../../../src/core/domain/slice-cost';
import { optimizerTime } from '../../../../src/core/time-model/optimizer-time';
import { floorShare, stageCost } from '../../../../src/core/time-model/stage-cost';
import { gradientExchangeTime } from '../../../../src/core/time-model/gradient-exchange';
import { megatronBoundary, terapipeBoundary } from '../../../../src/core/time-model/boundary';
import { rankMatrixParameters } from '../../../../src/core/model/parameters';
import { linksWith } from '../../../../src/core/terapipe/cluster-section';
import type { LayerKind } from '../../../../src/core/domain/model';
import type { LinkSpec } from '../../../../src/core/domain/cluster';
import { deepseek, gpt, mixtral, request } from '../../../golden/requests';

/** The 3.6B run of the reference vectors: micro-batch 2, 2,048 tokens, full recompute, gradients added up by themselves. */
const run = request('A100-80GB', gpt(30, 3072, 32, 51200), {
  training: { microBatch: 2, globalBatch: 512, recompute: 'full', gradAccumulationFusion: false },
  layout: { data: 64 },
});
/** The vectors were computed with large GEMMs at 0.958 of the peak. */
const reference: CostInputs = { ...run, cluster: { ...run.cluster, gpu: { ...run.cluster.gpu, gemmEfficiency: 0.958 } } };
const middle = { first: false, last: false };

function sum({ forwardMs, backwardMs }: { forwardMs: number; backwardMs: number }): number {
  return forwardMs + backwardMs;
}

describe('stage cost', () => {
  it('gives the reference layer 29.091 ms and the reference head 19.090 ms', () => {
    assert.equal(sum(stageCost(reference, 1, middle)(2, 2048, 0)).toFixed(3), '29.091');
    assert.equal(sum(stageCost(reference, 0, { first: false, last: true })(2, 2048, 0)).toFixed(3), '19.090');
  });

  it('is linear in layers', () => {
    const one = stageCost(reference, 1, middle)(2, 512, 512);
    const three = stageCost(reference, 3, middle)(2, 512, 512);
    assert.ok(Math.abs(sum(three) - 3 * sum(one)) < 1e-9);
  });

  it('takes longer with more layers where weights and gradients are sharded, however large the vocabulary', () => {
    const model = gpt(2, 512, 8, 250_000);
    for (const zeroStage of [2, 3] as const) {
      const sharded = request('A100-80GB', model, { training: { zeroStage, globalBatch: 64 }, layout: { data: 64 } });
      const of = (layers: number): number => sum(stageCost(sharded, layers, { first: true, last: true })(1, 128, 0));
      assert.ok(of(2) > of(1), `ZeRO ${zeroStage}: ${of(1)} ms of one layer, ${of(2)} of two`);
    }
  });

  it('takes longer with a layer more of a smaller kind where weights and gradients are sharded', () => {
    const [dense, experts] = [{ feedForward: 'dense', window: null } as const, { feedForward: 'experts', window: null } as const];
    for (const zeroStage of [2, 3] as const) {
      const sharded = request('H100-80GB', deepseek(2, 2), { training: { zeroStage, globalBatch: 64 }, layout: { data: 64 } });
      const of = (...kinds: readonly LayerKind[]): number => {
        const groups = kinds.map((kind) => ({ kind, layers: 1 }));
        return sum(stageCost(sharded, kinds.length, { first: true, last: true, groups })(1, 512, 0));
      };
      assert.ok(of(dense) < of(experts), 'the dense layer is the smaller one');
      for (const more of [of(dense, experts), of(experts, dense), of(experts, experts)])
        assert.ok(more > of(experts), `ZeRO ${zeroStage}: ${of(experts)} ms of a layer with experts, ${more} with one more`);
    }
  });

  it('is flat for short slices, which sit on the issue floor and on weight traffic, then grows', () => {
    const cost = stageCost(reference, 1, middle);
    assert.ok(sum(cost(1, 16, 0)) / sum(cost(1, 8, 0)) < 1.02);
    assert.ok(sum(cost(1, 2048, 0)) / sum(cost(1, 1024, 0)) > 1.7);
  });

  it('charges later slices for their context, fused or not', () => {
    for (const attention of ['flash', 'unfused'] as const) {
      const cost = stageCost({ ...reference, training: { ...reference.training, attention } }, 1, middle);
      assert.ok(sum(cost(1, 1024, 8192)) > 1.05 * sum(cost(1, 1024, 0)), attention);
    }
  });

  it('adds a whole forward to backward with full recompute and only unfused attention with selective', () => {
    const without = { ...reference, training: { ...reference.training, recompute: 'none' as const } };
    const selective = { ...reference, training: { ...reference.training, recompute: 'selective' as const } };
    const at = (inputs: CostInputs) => stageCost(inputs, 1, middle)(2, 2048, 0);
    assert.ok(Math.abs(at(reference).backwardMs - at(without).backwardMs - at(without).forwardMs) < 1e-9);
    assert.ok(at(selective).backwardMs > at(without).backwardMs && at(selective).backwardMs < at(reference).backwardMs);
  });

  it('splits backward: weight gradients are their products and adding up, whatever is attended to, exchanged or computed again', () => {
    const at = (training: Partial<CostInputs['training']>, tensor = 1, context = 0, layers = 1) =>
      stageCost(
        { ...reference, training: { ...reference.training, ...training }, layout: { ...reference.layout, tensor } },
        layers,
        middle,
      )(2, 2048, context);
    const { backwardWeightMs } = at({});
    for (const other of [at({ recompute: 'none' }), at({ attention: 'flash' }), at({}, 1, 4096)])
      assert.equal(other.backwardWeightMs, backwardWeightMs);
    assert.ok(Math.abs(at({}, 1, 0, 3).backwardWeightMs - 3 * backwardWeightMs) < 1e-9);

    const { gemm, traffic } = deviceRates(reference);
    const [n, h] = [4096, 3072];
    const products = gemm(h, 3 * h, n) + gemm(h, h, n) + gemm(h, 4 * h, n) + gemm(4 * h, h, n);
    const addingUp = traffic(6 * 12 * h * h);
    assert.ok(Math.abs(backwardWeightMs - 1e3 * (products + addingUp)) < 1e-9, `${backwardWeightMs} ${1e3 * (products + addingUp)}`);
  });

  it('takes the longer of computing weight gradients and of adding them to the main ones where that is fused', () => {
    const fused = { ...reference, training: { ...reference.training, gradAccumulationFusion: true } };
    const [h, bandwidth] = [3072, reference.cluster.gpu.memoryTBps * 1e12 * reference.constants.memoryEfficiency];
    const weightMs = (tokens: number): number => stageCost(fused, 1, middle)(1, tokens, 0).backwardWeightMs;
    const { gemm } = deviceRates(reference);
    const products = gemm(h, 3 * h, 4096) + gemm(h, h, 4096) + gemm(h, 4 * h, 4096) + gemm(4 * h, h, 4096);
    assert.ok(Math.abs(weightMs(4096) - 1e3 * products) < 1e-9);
    const moved = (8 * 4 * h * h + 2 * 8 * 5 * h) / bandwidth;
    assert.ok(2 * moved > gemm(h, 4 * h, 8) && weightMs(8) > 2e3 * moved, 'few rows: main gradients are read and written');
    const half = { ...fused, training: { ...fused.training, gradAccumulationFp32: false } };
    assert.ok(stageCost(half, 1, middle)(1, 8, 0).backwardWeightMs < weightMs(8));
  });

  it('counts the weight gradient of the head on the last stage, and none for the embedding', () => {
    const weightMs = (first: boolean, last: boolean) => stageCost(reference, 2, { first, last })(2, 2048, 0).backwardWeightMs;
    const head = 1e3 * deviceRates(reference).gemm(3072, 51200, 4096);
    assert.equal(weightMs(true, false), weightMs(false, false));
    assert.ok(Math.abs(weightMs(false, true) - weightMs(false, false) - head) < 1e-9);
  });

  it('splits measured backward in the ratio of the analytic model for the same slice', () => {
    const analytic = stageCost(reference, 1, middle);
    const measured = splitLike((batch, tokens, context) => ({ forwardMs: 1, backwardMs: batch + tokens + context }), analytic, 0.5);
    for (const [batch, tokens, context] of [
      [1, 256, 0],
      [2, 1024, 1024],
    ] as const) {
      const { backwardMs, backwardWeightMs } = analytic(batch, tokens, context);
      const slice = measured(batch, tokens, context);
      assert.deepEqual([slice.forwardMs, slice.backwardMs], [0.5, 0.5 * (batch + tokens + context)]);
      assert.ok(Math.abs(slice.backwardWeightMs / slice.backwardMs - backwardWeightMs / backwardMs) < 1e-12);
    }
  });

  it('splits fused attention over context-parallel ranks and charges the exchange', () => {
    const long = { ...reference, training: { ...reference.training, attention: 'flash' as const } };
    const split = { ...long, layout: { ...long.layout, context: 4 } };
    const whole = sum(stageCost(long, 1, middle)(1, 65536, 0));
    const quarter = sum(stageCost(split, 1, middle)(1, 65536, 0));
    assert.ok(quarter > whole / 4 && quarter < whole / 3);
  });
});

describe('cost of a mixture of experts', () => {
  const constants = { ...reference.constants, issueFloorUs: 0 };
  const at = (model: ReturnType<typeof gpt>, layout: object = {}, training: object = {}): CostInputs => ({
    ...request('B200', model, {
      training: { attention: 'flash', dropout: false, precision: 'bf16', gradAccumulationFusion: false, ...training },
      layout,
    }),
    constants,
  });
  const one = (inputs: CostInputs, tokens: number) => stageCost(inputs, 1, middle)(1, tokens, 0);
  const withExperts = (count: number, active: number) => ({ ...mixtral(1), experts: { count, active } });
  const near = (actual: number, expected: number) => {
    assert.ok(Math.abs(actual / expected - 1) < 1e-9, `${actual} for ${expected}`);
  };

  it('has in its weight gradients the projections of latent attention, the experts of a rank and the shared ones, not the router', () => {
    const inputs = at(deepseek(2, 2));
    const routed = { kind: { feedForward: 'experts', window: null }, layers: 1 } as const;
    const { backwardWeightMs } = stageCost(inputs, 1, { ...middle, groups: [routed] })(1, 4096, 0);
    const { gemm, traffic } = deviceRates(inputs);
    const [n, h] = [4096, 5120];
    const latent = gemm(h, 1536, n) + gemm(h, 512 + 64, n) + gemm(1536, 128 * 192, n) + gemm(512, 128 * 256, n) + gemm(128 * 128, h, n);
    const visits = (n * 6) / 160;
    const experts = gemm(h, 2 * 1536, visits, 160) + gemm(1536, h, visits, 160);
    const shared = gemm(h, 2 * 3072, n) + gemm(3072, h, n);
    const addingUp = traffic(6 * rankMatrixParameters(inputs.model, inputs.layout, routed.kind));
    near(backwardWeightMs, 1e3 * (latent + experts + shared + addingUp));
    const dense = { kind: { feedForward: 'dense', window: null }, layers: 1 } as const;
    const denseMs = stageCost(inputs, 1, { ...middle, groups: [dense] })(1, 4096, 0).backwardWeightMs;
    near(stageCost(inputs, 2, { ...middle, groups: [dense, routed] })(1, 4096, 0).backwardWeightMs, backwardWeightMs + denseMs);
  });

  it('is that of a dense layer, the router and two permutations when there is one expert', () => {
    const inputs = at(withExperts(1, 1));
    const { gemm, traffic } = deviceRates(inputs);
    const n = 4096;
    const h = 4096;
    const dense = one(at({ ...mixtral(1), experts: null }), n);
    const routed = one(inputs, n);
    near(routed.forwardMs - dense.forwardMs, 1e3 * (gemm(n, 1, h) + 2 * traffic(4 * n * h)));
    const accumulation = traffic(6 * h);
    near(routed.backwardMs - dense.backwardMs, 1e3 * (gemm(n, h, 1) + gemm(h, 1, n) + 2 * traffic(4 * n * h) + accumulation));
  });

  it('follows the visits of a token, not the number of experts, for long slices', () => {
    const forward = (count: number, active: number) => one(at(withExperts(count, active)), 65536).forwardMs;
    const [two, four] = [forward(8, 2), forward(8, 4)];
    assert.ok(forward(16, 2) / two < 1.05);
    assert.ok(four / two > 1.4);
  });

  it('reads no weights of experts that a short slice does not visit', () => {
    const forward = (count: number) => one(at(withExperts(count, 2)), 2).forwardMs;
    assert.ok(forward(64) / forward(4) < 1.01);
    assert.ok(forward(4) / forward(2) > 1.3);
  });

  it('adds two all-to-alls a pass and doubled permutations with expert parallelism, and reads fewer weights', () => {
    const inputs = at(mixtral(1), { data: 4, expert: 4 });
    const { traffic, gemm } = deviceRates(inputs);
    const n = 65536;
    const exchange = allToAllSeconds(2 * 2 * n * 4096, 4, 1, inputs.cluster);
    const experts = (each: number, rows: number) => gemm(rows, 2 * 14336, 4096, each) + gemm(rows, 4096, 14336, each);
    const more = one(inputs, n).forwardMs - one(at(mixtral(1), { data: 4 }), n).forwardMs;
    const permutations = 2 * traffic(4 * 2 * n * 4096);
    near(more, 1e3 * (2 * exchange + permutations + experts(2, n) - experts(8, n / 4)));
  });

  it('sends a token once to each rank and node with DeepEP and HybridEP, at what their kernels reach, and sorts it once', () => {
    const n = 65536;
    const exchanged = (expert: number, expertDispatcher: 'alltoall' | 'deepep' | 'hybridep') => {
      const at4 = (training: object) => at(withExperts(32, 4), { data: 32, expert }, training);
      const sorted = 2e3 * deviceRates(at4({})).traffic(4 * 4 * n * 4096);
      return { ms: one(at4({ expertDispatcher }), n).forwardMs - one(at4({}), n).forwardMs + sorted, cluster: at4({}).cluster };
    };
    assert.equal(
      one(at(withExperts(32, 4), { expert: 8 }, { expertDispatcher: 'alltoall' }), n).forwardMs,
      one(at(withExperts(32, 4), { expert: 8 }), n).forwardMs,
    );
    assert.equal(exchanged(8, 'deepep').ms, exchanged(8, 'hybridep').ms);
    const bytes = 2 * n * 4096;
    const inNode = exchanged(8, 'hybridep');
    const visited = 8 * (1 - (7 / 8) ** 4);
    const whole = allToAllSeconds(4 * bytes, 8, 1, inNode.cluster);
    near(inNode.ms, 2e3 * (allToAllSeconds((visited * bytes) / 0.93, 8, 1, inNode.cluster) - whole));
    const across = exchanged(32, 'hybridep');
    const nodes = 4 * (1 - (3 / 4) ** 4);
    const network = allToAllSeconds((nodes * bytes) / 0.89, 32, 1, across.cluster);
    near(across.ms, 2e3 * (network - allToAllSeconds(4 * bytes, 32, 1, across.cluster)));
  });

  it('sends a token no further than the groups of experts that its router chooses from', () => {
    const n = 65536;
    const groups = { count: 8, active: 4 };
    const limited = (places: number) => {
      const model = { ...mixtral(1), experts: { count: 64, active: 8 } };
      const sent = (spec: typeof model) => {
        const inputs = at(spec, { data: 64, expert: 8 * places }, { expertDispatcher: 'deepep' });
        return { ms: one(inputs, n).forwardMs, cluster: inputs.cluster };
      };
      const { ms, cluster } = sent(model);
      const network = (nodes: number) => 2e3 * allToAllSeconds((nodes * 2 * n * 4096) / 0.89, 8 * places, 1, cluster);
      return { saved: ms - sent({ ...model, experts: { ...model.experts, groups } } as typeof model).ms, network };
    };
    const eight = limited(8);
    near(eight.saved, eight.network(8 * (1 - (7 / 8) ** 8)) - eight.network(4 * (1 - (3 / 4) ** 8)));
    const four = limited(4);
    near(four.saved, four.network(4 * (1 - (3 / 4) ** 8)) - four.network(4 * (1 - 15 / 70)));
  });

  it('hides the exchange with the compute of another micro-batch, except for what the two take from each other', () => {
    const n = 65536;
    const inputs = (overlapExpertComm: boolean) => at(mixtral(1), { data: 4, expert: 4 }, { overlapExpertComm });
    const exchange = 2e3 * allToAllSeconds(2 * 2 * n * 4096, 4, 1, inputs(true).cluster);
    near(one(inputs(false), n).forwardMs - one(inputs(true), n).forwardMs, 0.6 * exchange);
  });

  it('waits for the host expert by expert in a narrow format, unless a graph has the whole iteration', () => {
    const narrow = (layout: object, training: object = {}): CostInputs => ({
      ...at(withExperts(32, 2), layout, { gemmPrecision: 'fp8', ...training }),
      constants: { ...constants, issueFloorUs: 1 },
    });
    const overhead = (layout: object, training: object = {}) => {
      const with1 = narrow(layout, training);
      return one(with1, 65536).forwardMs - one({ ...with1, constants }, 65536).forwardMs;
    };
    near(overhead({}), 1e-3 * 32);
    near(overhead({ data: 8, expert: 8 }), 1e-3 * 4);
    near(overhead({}, { overlapExpertComm: true }), 1e-3 * 2 * 32);
    assert.equal(overhead({}, { cudaGraphs: 'iteration' }), 0);
    assert.equal(overhead({}, { runtime: 'torchtitan' }), 0);
  });

  it('has its kernels launched by CUDA graphs, those of experts only by graphs of whole iterations', () => {
    const floor = (training: object) => {
      const { floor: other, expertFloor } = deviceRates({ ...at(mixtral(1), {}, training), constants: reference.constants });
      return [1e6 * other, 1e6 * expertFloor].map(Math.round);
    };
    const issued = Math.round(reference.constants.issueFloorUs);
    assert.deepEqual(
      [floor({}), floor({ cudaGraphs: 'layers' }), floor({ cudaGraphs: 'iteration' })],
      [
        [issued, issued],
        [10, issued],
        [10, 10],
      ],
    );
  });

  it('adds biases of experts one expert after the other', () => {
    const biased = (mlpBias: boolean) => at({ ...mixtral(1), mlpBias });
    const { traffic } = deviceRates(biased(true));
    near(one(biased(true), 65536).forwardMs - one(biased(false), 65536).forwardMs, 1e3 * traffic(28 * 2 * 65536 * 4096));
  });

  it('exchanges a share of the rows with sequence parallelism', () => {
    const inputs = (sequenceParallel: boolean) => at(mixtral(1), { tensor: 2, data: 4, expert: 4 }, { sequenceParallel });
    const without = (sequenceParallel: boolean) => at(mixtral(1), { tensor: 2, data: 4 }, { sequenceParallel });
    const exchanged = (sequenceParallel: boolean) =>
      one(inputs(sequenceParallel), 65536).forwardMs - one(without(sequenceParallel), 65536).forwardMs;
    const { cluster } = inputs(true);
    const saved = allToAllSeconds(2 * 2 * 65536 * 4096, 4, 2, cluster) - allToAllSeconds(2 * 65536 * 4096, 4, 2, cluster);
    near(exchanged(false) - exchanged(true), 2e3 * saved);
  });

  it('exchanges the gradients of experts only between the replicas that hold the same', () => {
    const gradient = (expert: number) => gradientExchangeTime(at(mixtral(1), { data: 8, expert }, { zeroStage: 1 }), { layers: 4 });
    const bytes = 6 * 4 * 3 * 8 * 4096 * 14336;
    const bus = nodeBusBandwidth(gpuPresets.B200.links, 8);
    near(gradient(1) - gradient(8), (1e3 * (7 / 8) * bytes) / bus);
    near(gradient(1) - gradient(4), (1e3 * (7 / 8 - 1 / 2 / 4) * bytes) / bus);
  });

  it('updates the experts of a rank with the optimizer', () => {
    const optimizer = (expert: number, zeroStage: 0 | 1) =>
      optimizerTime(at(mixtral(1), { data: 8, expert }, { zeroStage }), { layers: 4 });
    const perByte = 1e3 / (8e12 * 0.85);
    const experts = 4 * 3 * 8 * 4096 * 14336;
    near(optimizer(1, 0) - optimizer(8, 0), perByte * 30 * experts * (7 / 8));
    // the optimizer's share is an eighth either way: whole experts of one rank, or eighths of all
    near(optimizer(1, 1) - optimizer(8, 1), perByte * 12 * experts * (7 / 8));
  });

  it('zeroes and divides gradients in the bytes that their buffers have', () => {
    const optimizer = (gradAccumulationFp32: boolean, data = 8) =>
      optimizerTime(at(mixtral(1), { data }, { zeroStage: 1, gradAccumulationFp32 }), { layers: 4 });
    const inputs = at(mixtral(1), { data: 8 });
    const parameters = 4 * rankMatrixParameters(inputs.model, inputs.layout) + 32000 * 4096;
    near(optimizer(true) - optimizer(false), (1e3 / (8e12 * 0.85)) * 6 * parameters);
    near(optimizer(true, 1) - optimizer(false, 1), (1e3 / (8e12 * 0.85)) * 2 * parameters);
  });
});

describe('share on the issue floor', () => {
  it('falls with the size of the work', () => {
    assert.ok(floorShare(reference, 1, 16) > 0.5);
    assert.ok(floorShare(reference, 2, 2048) < 0.05);
  });
});

describe('collectives', () => {
  const a100 = gpuPresets['A100-80GB'];
  it('cost nothing for one rank', () => {
    assert.equal(allReduceSeconds(1e9, 1, a100), 0);
    assert.equal(gatherSeconds(1e9, 1, a100), 0);
  });

  it('run over the node links inside a node and over the network beyond', () => {
    assert.ok(Math.abs(allReduceSeconds(1e9, 8, a100) - ((2 * 7) / 8 / 221 + 72e-6)) < 1e-9);
    assert.ok(Math.abs(allReduceSeconds(1e9, 16, a100) - ((2 * 15) / 16 / 98 + 2 * 87e-6)) < 1e-9);
  });

  it('exchange all to all as they gather inside a node, and share its network beyond', () => {
    assert.equal(allToAllSeconds(1e9, 1, 8, a100), 0);
    assert.equal(allToAllSeconds(1e9, 4, 2, a100), gatherSeconds(1e9, 4, a100));
    // of 16 ranks 8 lie in the other node: every GPU sends half of its bytes there
    assert.ok(Math.abs(allToAllSeconds(1e9, 16, 1, a100) - ((8 * 0.5) / 98 + 87e-6)) < 1e-9);
    assert.ok(Math.abs(allToAllSeconds(1e9, 4, 8, a100) - ((8 * 0.75) / 98 + 57e-6)) < 1e-9);
  });

  it('split an all-reduce into a scatter and a gather', () => {
    assert.equal(2 * gatherSeconds(1e9, 8, a100), allReduceSeconds(1e9, 8, a100));
  });
});

describe('what follows the pipeline', () => {
  it('has no gradient exchange without replicas, and 30 bytes a parameter for Adam', () => {
    assert.equal(gradientExchangeTime({ ...reference, layout: { ...reference.layout, data: 1 } }, { layers: 30 }), 0);
    assert.equal(optimizerTime({ ...reference, training: { ...reference.training, optimizer: 'none' } }, { layers: 30 }), 0);
    assert.equal(optimizerTime(reference, { layers: 30 }).toFixed(2), '62.73');
    assert.equal(gradientExchangeTime(reference, { layers: 30 }).toFixed(2), '142.82');
  });

  it('gathers weights that stay in FP8 in one byte', () => {
    const at = (training: Partial<CostInputs['training']>): number =>
      gradientExchangeTime(
        { ...reference, training: { ...reference.training, zeroStage: 1, gemmPrecision: 'fp8', ...training } },
        { layers: 30 },
      );
    const [wide, narrow, scattered] = [at({}), at({ fp8ParamGather: true }), at({ fp8ParamGather: true, gradAccumulationFp32: false })];
    // 4 bytes of a gradient and 2 or 1 of a weight; 2 and 1
    assert.ok(Math.abs(narrow / wide - 5 / 6) < 1e-9 && Math.abs(scattered / wide - 3 / 6) < 1e-9);
  });

  it('broadcasts whole tensors one after the other, so that the latency of a ring of all ranks counts for each', () => {
    const at = (data: number, training: Partial<CostInputs['training']>): number =>
      gradientExchangeTime(
        {
          ...reference,
          cluster: { ...reference.cluster, nodes: data },
          layout: { ...reference.layout, data },
          training: { ...reference.training, zeroStage: 1, gradAccumulationFp32: false, overlapParamGather: false, ...training },
        },
        { layers: 30 },
      );
    const tensors = { optimizerShards: 'tensors' } as const;
    assert.ok(at(512, tensors) > 2 * at(512, {}), `${at(512, tensors)} for ${at(512, {})}`);
    const more = (data: number): number => at(2 * data, tensors) - at(data, tensors);
    // more ranks than tensors: each further rank costs as much
    assert.ok(Math.abs(more(1024) / (2 * more(512)) - 1) < 0.05, `${more(512)} and ${more(1024)}`);
    assert.ok(at(512, { ...tensors, dataReplicate: 512 / 8 }) < at(512, tensors), 'a group of a node has short rings');
  });

  it('waits of overlapped exchanges for what is longer than the pass, and for a bucket of 64M parameters, and 0.4 of what hides', () => {
    const overlapped = { ...reference, training: { ...reference.training, overlapGradReduce: true } };
    const overlappedWith = (ms: number) => ({ weights: { share: 1, ms: 0 }, gradients: [{ share: 1, ms }] });
    const none = gradientExchangeTime(reference, { layers: 30 }, overlappedWith(0));
    assert.equal(none, gradientExchangeTime(reference, { layers: 30 }));
    const waits = (backwardMs: number, training = {}) =>
      gradientExchangeTime(
        { ...overlapped, training: { ...overlapped.training, ...training } },
        { layers: 30 },
        overlappedWith(backwardMs),
      );
    assert.equal(waits(0), none);
    assert.ok(Math.abs(none - waits(40) - 0.6 * 40) < 1e-9);
    const parameters = 30 * rankMatrixParameters(reference.model, reference.layout) + 51200 * 3072;
    assert.ok(Math.abs(waits(1e6) / none - 0.4 - (0.6 * 64e6) / parameters) < 1e-9);
    const sharded = (training: object) => waits(1e6, { zeroStage: 1, ...training });
    assert.ok(sharded({ overlapParamGather: true }) === sharded({}), 'a first forward of no time hides nothing');
    assert.equal(waits(0, { zeroStage: 1, overlapParamGather: true }), waits(0, { zeroStage: 1 }));
  });

  it('sends from as many ranks at once as a node has GPUs', () => {
    const on = (gpu: 'GB200' | 'B200') =>
      request(gpu, gpt(48, 12288, 96, 0), { training: {}, layout: { tensor: 4, pipeline: 16, data: 8 } });
    const over = (gpu: 'GB200' | 'B200', ranks: number) => {
      const { links } = on(gpu).cluster;
      const bytes = 2 * 2048 * 12288;
      return (1e3 * bytes * ranks) / 4 / (links.nicGBps * links.nicEfficiency * 1e9) + 0.02 + (1e3 * bytes) / 668e9;
    };
    assert.equal(megatronBoundary(on('GB200'), 1, 2048).toFixed(6), over('GB200', 4).toFixed(6));
    assert.equal(megatronBoundary(on('B200'), 1, 2048).toFixed(6), over('B200', 8).toFixed(6));
  });

  it("sends one copy of the boundary over a V100 node's 25 Gbit/s, which the node's ranks share with each other", () => {
    const setting9 = request('V100-16GB', gpt(96, 12288, 96, 0), { training: {}, layout: { tensor: 4, pipeline: 96 } });
    const broadcastMs = 0.5 * 0.029 * Math.log2(4);
    const sentMs = 2 * 2048 * 12288 * (1 / 2.79e6 + 1 / 138e6) + 0.02 + broadcastMs;
    assert.equal(terapipeBoundary(setting9, 1, 2048).toFixed(3), sentMs.toFixed(3));
  });

  it('exchanges over a network of TCP at what all GPUs of a node reach together, which a file with a network of its own does not name', () => {
    const volta = request('V100-16GB', gpt(96, 6144, 48, 0), { training: { runtime: 'terapipe' }, layout: { pipeline: 96, data: 4 } });
    const { cluster } = volta;
    const over = (links: LinkSpec, gpusPerNode = 8) =>
      gradientExchangeTime({ ...volta, cluster: { ...cluster, links, gpusPerNode } }, { layers: 1 });
    const { nicSharedEfficiency, ...unshared } = cluster.links;
    assert.equal(nicSharedEfficiency, 0.57);
    assert.ok(Math.abs(over(cluster.links) / over(unshared) / (0.9 / 0.57) - 1) < 1e-9);
    assert.equal(over(cluster.links, 1), over(unshared, 1), 'a node of one GPU');
    assert.equal(over(linksWith(cluster.links, { nicGBps: 3.1 })), over(unshared));
    assert.equal(over(linksWith(cluster.links, { hostGBps: 10 })), over(cluster.links));
  });
});

describe("TeraPipe's runtime", () => {
  const one = (sequenceLength: number, runtime: 'terapipe' | 'megatron' = 'terapipe') =>
    stageCost(
      request('V100-16GB', gpt(24, 2048, 16, 0), {
        training: { runtime, sequenceLength, precision: 'fp16', attention: 'unfused', dropout: false, gradAccumulationFusion: false },
        layout: { pipeline: 24 },
      }),
      1,
      middle,
    );

  it('takes 1.45 ms for the forward of a layer of GPT3-1B and few tokens, as Fig. 3 of the paper has it', () => {
    for (const tokens of [8, 64, 128]) assert.ok(Math.abs(one(2048)(1, tokens, 0).forwardMs / 1.45 - 1) < 0.01, `${tokens}`);
  });

  it('touches the keys and values of the whole sequence six times for the gradient of a slice', () => {
    const [short, long] = [2048, 8192].map((length) => one(length)(1, 64, 0).backwardMs);
    const { memoryTBps } = gpuPresets['V100-16GB'].gpu;
    const msOf = (length: number): number => Math.max(0.0885, (6 * 2 * length * 2048) / (memoryTBps * 1e9 * 0.85));
    assert.ok(Math.abs((long ?? 0) - (short ?? 0) - 2 * (msOf(8192) - msOf(2048))) < 1e-9);
    assert.equal(one(2048, 'megatron')(1, 64, 0).backwardMs, one(8192, 'megatron')(1, 64, 0).backwardMs);
  });
});
