import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Ajv } from 'ajv';
import * as v from 'valibot';
import { detailNames, routerScores } from '../../../../../src/core/domain/settings/model-details';
import { ExpectedError } from '../../../../../src/core/errors';
import { namedSchedules, type ScheduleName } from '../../../../../src/core/domain/schedule-names';
import { torchFolder } from '../../../../../src/core/export/torch/folder';
import { torchPlan } from '../../../../../src/core/export/torch/plan-file';
import { runtimeFunctions } from '../../../../../src/core/export/torch/refusals';
import { torchPlanSchema, type TorchPlan } from '../../../../../src/core/export/torch/schema';
import { chosenCandidate, type Plan } from '../../../../../src/core/planner/plan';
import type { PlanRequest } from '../../../../../src/core/domain/request';
import { scheduleKind } from '../../../../../src/core/schedules/registry';
import { actionNames } from '../../../../../src/core/schedules/pytorch-csv/actions';
import type { Schedule } from '../../../../../src/core/schedules/schedule';
import { deadlockedAt } from '../../../../../src/core/schedules/simulate/simulate';
import { say } from '../../../../../src/core/sentence';
import { elementBytes } from '../../../../../src/core/domain/number-formats';
import { parameterCount } from '../../../../../src/core/model/parameters';
import { tinyPlan } from '../../../features/rehearsal/profiler/tiny-plan';

const sources = path.join(import.meta.dirname, '../../../../../src/runtime/torch/terapipe_torch');

/** Eight layers on two stages, in four slices a sequence where the schedule runs slices. */
const planWith = (schedule: ScheduleName, changes: Readonly<Record<string, unknown>> = {}): Promise<Plan> =>
  tinyPlan({
    model: { layers: 8 },
    training: { sequenceLength: 256, globalBatch: 8 },
    slicing: { scheme: scheduleKind(schedule).sliced ? Array.from({ length: 8 }, () => [1, [64, 64, 64, 64]]) : undefined },
    schedule,
    ...changes,
  });

interface Action {
  readonly rank: number;
  readonly stage: number;
  readonly kind: string;
  readonly unit: number;
}

/** Actions of each rank, as the runtime reads them. */
function actionsIn({ actions }: TorchPlan): Action[] {
  return actions.flatMap((row, rank) =>
    row.map((text) => {
      const [, stage = '', kind = '', unit = ''] = /^(\d+)([FBIW])(\d+)$/.exec(text) ?? [];
      return { rank, stage: Number(stage), kind, unit: Number(unit) };
    }),
  );
}

/** The plan's actions as a schedule of ours: nothing in it overlaps. */
function scheduleIn(plan: TorchPlan): Schedule {
  const actions = actionsIn(plan);
  let end = 0;
  return {
    name: plan.schedule,
    stages: plan.actions.length,
    stageOfChunk: Uint32Array.from(plan.stages, ({ rank }) => rank),
    units: plan.units,
    rowStart: Uint32Array.from([0, ...plan.actions.map((row) => (end += row.length))]),
    kind: Uint8Array.from(actions, ({ kind }) => actionNames.findIndex((name) => name === kind)),
    chunk: Uint32Array.from(actions, ({ stage }) => stage),
    unit: Uint32Array.from(actions, ({ unit }) => unit),
    overlapsNext: null,
  };
}

/** What each unit runs on each stage, in its rank's order: `F B`, or `F I W`. */
function passesIn(plan: TorchPlan): ReadonlyMap<string, string> {
  const passes = new Map<string, string>();
  for (const { stage, kind, unit } of actionsIn(plan)) passes.set(`${stage} ${unit}`, `${passes.get(`${stage} ${unit}`) ?? ''}${kind}`);
  return passes;
}

/** Slices of a micro-batch go forward in their order and backward in the reverse one, on each stage. */
function assertSliceOrder(plan: TorchPlan): void {
  const last = new Map<string, number>();
  for (const { stage, kind, unit } of actionsIn(plan)) {
    if (kind === 'W') continue;
    const { microBatch = 0, slice = 0 } = plan.units[unit] ?? {};
    const key = `${stage} ${microBatch} ${kind === 'F' ? 'F' : 'B'}`;
    const before = last.get(key);
    if (before !== undefined) assert.equal(slice, kind === 'F' ? before + 1 : before - 1, `${plan.schedule}: ${stage}${kind}${unit}`);
    last.set(key, slice);
  }
}

describe('plan.json for the PyTorch runtime', () => {
  for (const name of namedSchedules)
    it(`has every operation of ${name} once, in an order that runs`, async () => {
      const chosen = await planWith(name);
      const { plan } = torchPlan(chosen);
      const { splitsBackward, sliced } = scheduleKind(name);
      const passes = passesIn(plan);
      assert.equal(passes.size, plan.stages.length * plan.units.length);
      for (const [cell, kinds] of passes) assert.match(kinds, splitsBackward ? /^F(B|IW)$/ : /^FB$/, `${cell}: ${kinds}`);
      assert.deepEqual(deadlockedAt(scheduleIn(plan)), []);
      assertSliceOrder(plan);
      assert.equal(
        plan.units.some(({ slice }) => slice > 0),
        sliced,
        name,
      );
      for (const [rank, row] of plan.actions.entries())
        for (const text of row) assert.equal(plan.stages[Number.parseInt(text, 10)]?.rank, rank, text);
      const { startMs, endMs, iterationMs, peakBytes } = plan.predicted;
      assert.equal(peakBytes.length, plan.layout.pipeline);
      const lengths = (rows: readonly (readonly unknown[])[]): number[] => rows.map(({ length }) => length);
      assert.deepEqual([lengths(startMs), lengths(endMs)], [lengths(plan.actions), lengths(plan.actions)]);
      for (const [rank, starts] of startMs.entries()) {
        const ends = endMs[rank] ?? [];
        assert.ok(starts.every((start, row) => start <= (ends[row] ?? 0)));
        assert.ok(Math.max(...ends) - (starts[0] ?? 0) <= iterationMs + 1e-3, `rank ${rank} takes longer than the step`);
      }
    });

  it('assigns all layers, the embedding and the head to stages in their order', async () => {
    for (const name of ['1F1B', 'ZBVZeroBubble', 'Interleaved1F1B'] as const) {
      const { stages, model } = torchPlan(await planWith(name, { layout: { pipeline: 2 }, model: { layers: 9 } })).plan;
      let next = 0;
      for (const { firstLayer, layers } of stages) {
        assert.equal(firstLayer, next);
        next += layers;
      }
      assert.equal(next, model.layers);
      assert.deepEqual(
        stages.map(({ embedding, head }) => [embedding, head]),
        stages.map((_, stage) => [stage === 0, stage === stages.length - 1]),
      );
      const ranks = stages.map(({ rank }) => rank);
      assert.deepEqual(ranks, name === '1F1B' ? [0, 1] : name === 'ZBVZeroBubble' ? [0, 1, 1, 0] : [0, 1, 0, 1]);
    }
  });

  it('keeps the rounds and batch slices of TeraPipe', async () => {
    const scheme = [
      [2, [128, 64, 64]],
      [1, [256], 'drain'],
      [1, [96, 160]],
    ];
    const { plan } = torchPlan(await planWith('TeraPipe', { slicing: { scheme }, training: { sequenceLength: 256, globalBatch: 4 } }));
    assert.deepEqual(
      plan.units.map(({ microBatch, slice, batch, tokens, context }) => [microBatch, slice, batch, tokens, context]),
      [
        [0, 0, 2, 128, 0],
        [0, 1, 2, 64, 128],
        [0, 2, 2, 64, 192],
        [1, 0, 1, 256, 0],
        [2, 0, 1, 96, 0],
        [2, 1, 1, 160, 96],
      ],
    );
    const [first = []] = plan.actions;
    assert.ok(first.indexOf('0B0') < first.indexOf('0F4'), first.join(' '));
    assert.equal(plan.training.globalBatch, 4);
  });

  it('numbers ranks as the plan does, and counts the sequences of all replicas', async () => {
    const layout = { tensor: 2, pipeline: 2, data: 2 };
    const cluster = { gpu: 'L40S', nodes: 1, gpusPerNode: 8 };
    const { plan } = torchPlan(await planWith('1F1B', { layout, cluster }));
    assert.deepEqual(plan.layout.rankOrder, ['tensor', 'context', 'data', 'pipeline']);
    assert.equal(plan.training.globalBatch, 8);
    assert.equal(plan.units.length, 4);
    const other = torchPlan(await planWith('1F1B', { layout: { ...layout, order: 'tp-cp-ep-pp-dp' }, cluster })).plan;
    assert.deepEqual(other.layout.rankOrder, ['tensor', 'context', 'pipeline', 'data']);
  });

  it('takes the optimizer from the file of the planned run, in the names of its launcher', async () => {
    const plan = await planWith('1F1B');
    const source = (names: 'megatron' | 'trainer', settings: readonly (readonly [string, string])[]): Plan => ({
      ...plan,
      source: { file: 'run', names, settings: settings.map(([name, word]) => ({ name, words: [word], isPlanned: false })) },
    });
    const usual = torchPlan(plan);
    assert.deepEqual([usual.plan.training.learningRate, usual.plan.training.beta2, usual.plan.training.seed], [1e-4, 0.95, 1234]);
    assert.deepEqual(usual.gaps, []);
    const ofMegatron = torchPlan(
      source('megatron', [
        ['--lr', '1.5e-3'],
        ['--adam-beta2', '0.99'],
        ['--clip-grad', '0.5'],
        ['--lr-decay-style', 'cosine'],
        ['--train-iters', '1000'],
        ['--lr-warmup-fraction', '0.01'],
      ]),
    );
    const { learningRate, beta2, gradientClip, learningRateSchedule, decaySteps, warmupSteps } = ofMegatron.plan.training;
    assert.deepEqual([learningRate, beta2, gradientClip], [1.5e-3, 0.99, 0.5]);
    assert.deepEqual([learningRateSchedule, decaySteps, warmupSteps], ['cosine', 1000, 10]);
    assert.deepEqual(ofMegatron.gaps, []);
    const bySamples = torchPlan(
      source('megatron', [
        ['--lr-decay-style', 'inverse-square-root'],
        ['--lr-decay-samples', '8000'],
        ['--lr-warmup-samples', '80'],
      ]),
    );
    assert.deepEqual([bySamples.plan.training.decaySteps, bySamples.plan.training.warmupSteps], [1000, 10]);
    assert.match(say(bySamples.gaps[0]!.what), /learning rate by "inverse-square-root"/);
    const ofTrainer = torchPlan(
      source('trainer', [
        ['learning_rate', '2e-5'],
        ['weight_decay', '0'],
      ]),
    );
    assert.deepEqual([ofTrainer.plan.training.learningRate, ofTrainer.plan.training.weightDecay], [2e-5, 0]);
  });

  it('refuses what the runtime does not train, in words', async () => {
    const plan = await planWith('1F1B');
    const { model, training } = plan.request;
    const changed = (change: Partial<PlanRequest>): Plan => ({ ...plan, request: { ...plan.request, ...change } });
    const ofModel = (change: Partial<PlanRequest['model']>): Plan => changed({ model: { ...model, ...change } });
    const ofTraining = (change: Partial<PlanRequest['training']>): Plan => changed({ training: { ...training, ...change } });
    const candidate = chosenCandidate(plan);
    const units = candidate.timeline!.units.map((unit) => ({ ...unit, documents: [128, 128] }));
    const packed = { ...candidate, timeline: { ...candidate.timeline!, units } };
    const forward = { ...candidate, timeline: { ...candidate.timeline!, forwardOnly: true as const } };
    const refused: readonly (readonly [Plan, RegExp])[] = [
      [ofModel({ stacks: { encoderLayers: 4, maxSourcePositions: null, sourcePositions: 'none', finalNorms: true } }), /an encoder/],
      [ofModel({ layerKinds: [{ feedForward: 'dense', window: null, mixer: 'state' }] }), /without attention/],
      [ofModel({ attentionSinks: true }), /attention sinks/],
      [ofModel({ mtpLayers: 1 }), /multi-token prediction/],
      [ofModel({ vocab: 0 }), /vocabulary/],
      [ofModel({ outputGate: true }), /a gate on the output/],
      [ofModel({ embeddingNorm: true }), /norm of the embedding/],
      [ofModel({ normsPerLayer: 3 }), /3 norms per layer/],
      [ofModel({ normsPerLayer: 1 }), /one norm per layer/],
      [ofModel({ details: { normPlacement: 'post' } }), /norms of the sum/],
      [ofModel({ qkNorm: true }), /LayerNorms of queries and keys/],
      [changed({ layout: { ...plan.request.layout, tensor: 3 } }), /3 tensor-parallel ranks cannot share/],
      [ofModel({ unusedPositions: 2 }), /positions that no token uses/],
      [ofModel({ smallParameters: { layer: 1 } }), /only models of type custom have/],
      [changed({ layout: { ...plan.request.layout, expert: 2 } }), /expert parallelism/],
      [ofTraining({ gemmPrecision: 'fp8' }), /GEMMs in fp8/],
      [ofTraining({ gemmPrecision: 'nvfp4' }), /GEMMs in nvfp4/],
      [ofTraining({ adapter: { rank: 8, targets: ['qkv'] } }), /adapters on frozen weights/],
      [ofTraining({ lengths: [[256, 1]] }), /documents/],
      [ofTraining({ optimizer: 'muon' }), /optimizer muon/],
      [ofTraining({ dataReplicate: 2 }), /groups of replicas/],
      [ofTraining({ offloadOptimizer: true }), /optimizer on the host/],
      [ofTraining({ activationOffloadLayers: 1 }), /activations on the host/],
      [ofTraining({ recompute: 'op' }), /recompute by "op"/],
      [ofTraining({ recompute: 'selective', recomputeModules: ['mlp'] }), /recompute of mlp/],
      [ofTraining({ recompute: 'full', recomputeLayers: 1 }), /some layers/],
      [{ ...plan, candidates: [packed] }, /packed documents/],
      [{ ...plan, candidates: [forward] }, /no backward/],
    ];
    for (const [each, message] of refused) assert.throws(() => torchPlan(each), { code: 'export-torchrun', message });
    assert.throws(() => torchPlan({ ...plan, candidates: [{ ...candidate, timeline: null }] }), { code: 'export-no-timeline' });
    for (const recompute of ['none', 'full', 'selective'] as const)
      assert.equal(torchPlan(ofTraining({ recompute })).plan.training.recompute, recompute);
  });

  it('gives the runtime only details of models that its code has', async () => {
    const plan = await planWith('1F1B');
    const spec = readFileSync(path.join(sources, 'model/spec.py'), 'utf8');
    const [, fields = ''] = /^class Details:\n([\s\S]*?)\n\n\n/m.exec(spec) ?? [];
    const known = new Set(
      [...fields.matchAll(/^ {4}(\w+):/gm)].map(([, name = '']) => name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())),
    );
    assert.ok(known.size > 10);
    const refuses = (details: object): boolean => {
      try {
        torchPlan({ ...plan, request: { ...plan.request, model: { ...plan.request.model, details } } });
        return false;
      } catch (error) {
        return error instanceof ExpectedError && error.code === 'export-torchrun';
      }
    };
    const dropped = ['hiddenDropoutShare', 'attentionDropoutShare'] as const;
    for (const name of dropped) {
      const model = { ...plan.request.model, details: { activation: 'gelu', [name]: 0.1 } };
      const { plan: made, gaps } = torchPlan({ ...plan, request: { ...plan.request, model } });
      assert.deepEqual(made.model['details'], { activation: 'gelu' });
      if (name === 'attentionDropoutShare') assert.ok(gaps.some(({ what }) => say(what) === 'dropout'));
    }
    for (const name of detailNames)
      if (!known.has(name) && !dropped.some((each) => each === name))
        assert.ok(
          [true, 2].some((value) => refuses({ [name]: value })),
          name,
        );
    assert.ok(!refuses({ parallelResidual: true, activation: 'gelu' }));
  });

  it('gives the runtime only functions that its code has', async () => {
    const plan = await planWith('1F1B');
    const text = ['functions.py', 'rotary.py'].map((name) => readFileSync(path.join(sources, 'model', name), 'utf8')).join('');
    const listed = (start: string, end: string): string[] => {
      const [, body = ''] = new RegExp(`^${start}[^=]*= \\${end === '}' ? '{' : '('}([^${end}]*)`, 'm').exec(text) ?? [];
      return [...body.matchAll(end === '}' ? /^ *"(\w+)":/gm : /"(\w+)"/g)].map(([, name = '']) => name);
    };
    assert.deepEqual(listed('_activations', '}'), runtimeFunctions.activations);
    assert.deepEqual(listed('scaling_kinds', ')'), runtimeFunctions.rotaryScalings);
    assert.deepEqual(listed('router_scores', '}'), routerScores);
    const withModel = (change: Partial<PlanRequest['model']>): Plan => ({
      ...plan,
      request: { ...plan.request, model: { ...plan.request.model, ...change } },
    });
    const refused = { code: 'export-torchrun' };
    assert.throws(() => torchPlan(withModel({ rotary: { scaling: { kind: 'longrope' } } })), refused);
    assert.throws(() => torchPlan(withModel({ details: { activation: 'tanh' } })), refused);
    assert.throws(() => torchPlan(withModel({ experts: { count: 4, active: 2, latent: 8 } })), refused);
  });

  it('names what it runs differently from the plan', async () => {
    const plan = await planWith('SlimPipe');
    const dropping = { ...plan, request: { ...plan.request, training: { ...plan.request.training, dropout: true } } };
    const { gaps } = torchPlan(dropping);
    assert.deepEqual(
      gaps.map(({ what }) => say(what)),
      ['dropout', 'attention exchanged between stages, and the head spread over them'],
    );
    assert.match(torchFolder(dropping).files.get('README.md')!, /Not written: dropout/);
    const { request } = plan;
    const sharding = (data: number): Plan => ({
      ...plan,
      request: { ...request, layout: { ...request.layout, data }, training: { ...request.training, zeroStage: 3 } },
    });
    assert.equal(torchPlan(sharding(1)).gaps.length, 1);
    const [gathered] = torchPlan(sharding(2)).gaps;
    assert.match(say(gathered!.what), /weights gathered ahead/);
    const [candidate] = plan.candidates;
    const { stages } = candidate!.memory;
    const withUsable = (usableBytes: number): Plan => {
      const memory = { ...candidate!.memory, stages: stages.map((stage) => ({ ...stage, usableBytes })) };
      return { ...sharding(2), candidates: [{ ...candidate!, memory }] };
    };
    assert.throws(() => torchPlan(withUsable(1e3)), /weights that are whole on each GPU/);
    const mean = (elementBytes(request.training) * parameterCount(request.model)) / stages.length;
    assert.throws(() => torchPlan(withUsable(1.01 * mean)), /weights that are whole/, 'the stage with the most counts, not the mean');
  });

  it('is what its schema describes', async () => {
    const { files, plan } = torchFolder(await planWith('Seq1F1B'));
    const written = JSON.parse(files.get('plan.json')!) as object;
    assert.deepEqual(written, JSON.parse(JSON.stringify(plan)));
    assert.ok(v.is(torchPlanSchema, written));
    const file = path.join(import.meta.dirname, '../../../../../media/schemas/torch-plan.schema.json');
    const validate = new Ajv({ strict: true, allowUnionTypes: true }).compile(JSON.parse(readFileSync(file, 'utf8')) as object);
    assert.ok(validate(written), JSON.stringify(validate.errors));
    assert.equal(validate({ ...written, actions: [['0F0', '0X0']] }), false);
    assert.equal(validate({ ...written, version: 2 }), false);
  });
});
