import assert from 'node:assert/strict';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { steppedSizes, whatIfKeys, whatIfSets, whatIfSizes } from '../../src/core/layout-search/what-if';
import { makePlan } from '../../src/core/planner/make-plan';
import { chosenCandidate, type Candidate } from '../../src/core/planner/plan';
import { resolveRun } from '../../src/core/plan-request/resolve';
import { scenarioChanges, planScenario, type Scenario } from '../../src/core/plan-request/scenario';
import { withSizes } from '../../src/core/plan-request/with-sizes';
import type { Run } from '../../src/core/run/run';
import type { PlanRequest } from '../../src/core/domain/request';
import { loadRun } from '../load-run';
import { toText } from '../unit/sentence-text';
import { cases } from './cases';

interface Config {
  readonly model: Readonly<Record<string, number | boolean>>;
  readonly [section: string]: Readonly<Record<string, unknown>>;
}

const dense = (layers: number, hidden: number, heads: number, ffn: number) => ({
  layers,
  hidden,
  heads,
  kvHeads: 8,
  ffn,
  gatedMlp: true,
  vocab: 128_256,
  maxPositions: 8192,
});

/** Models from what fits a GPU to what takes several nodes. */
const models = [
  dense(16, 2048, 16, 8192),
  dense(32, 4096, 32, 14_336),
  dense(40, 5120, 40, 13_824),
  dense(80, 8192, 64, 28_672),
  { ...dense(24, 2048, 16, 1408), experts: 32, activeExperts: 4, expertFfn: 1408 },
];
/** What a file sets in addition to its model: nothing, some sizes, the machine, the training. */
const others: readonly Omit<Config, 'model'>[] = [
  {},
  { layout: { tensor: 2 } },
  { layout: { pipeline: 4 } },
  { cluster: { gpu: 'A100-80GB', nodes: 4 } },
  { training: { sequenceLength: 8192, recompute: 'full' } },
  { training: { globalBatch: 192, microBatch: 2 }, layout: { tensor: 4, pipeline: 2 } },
];
/** Thirty files. */
const configs: readonly Config[] = models.flatMap((model) => others.map((other) => ({ ...other, model })));

/** One value of a file, none of its scenario. */
const edits: readonly (readonly [section: string, key: string, values: readonly unknown[]])[] = [
  ['model', 'layers', [12, 20, 24, 32, 48, 64, 96]],
  ['model', 'ffn', [4096, 11_008, 16_384]],
  ['model', 'vocab', [32_000, 50_257, 151_936]],
  ['model', 'kvHeads', [8, 16]],
  ['model', 'maxPositions', [8192, 131_072]],
  ['training', 'recompute', ['none', 'selective', 'full']],
  ['training', 'precision', ['bf16', 'fp16']],
  ['training', 'zeroStage', [0, 1]],
  ['training', 'dropout', [true, false]],
  ['training', 'attention', ['flash', 'unfused']],
  ['layout', 'tensor', [1, 2, 4, 8]],
  ['layout', 'pipeline', [1, 2, 4]],
];
const edit = fc
  .constantFrom(...edits)
  .chain(([section, key, values]) =>
    fc.record({ section: fc.constant(section), key: fc.constant(key), value: fc.constantFrom(...values) }),
  );

function edited(
  config: Config,
  { section, key, value }: { readonly section: string; readonly key: string; readonly value: unknown },
): Config {
  return { ...config, [section]: { ...config[section], [key]: value } };
}

async function readRun(config: Config): Promise<Run> {
  return loadRun('terapipe.json', JSON.stringify(config), () => Promise.reject(new Error('no other file')));
}

function resolved(run: Run, kept?: Scenario): PlanRequest {
  return resolveRun(run, { gpu: 'H100-80GB', nodes: null, gpusPerNode: null, kept });
}

const first = new Map<Config, Promise<PlanRequest>>();
function firstOf(config: Config): Promise<PlanRequest> {
  const known = first.get(config) ?? readRun(config).then((run) => resolved(run));
  first.set(config, known);
  return known;
}

function planned(request: PlanRequest): Candidate {
  return chosenCandidate(makePlan(request, { drawnOperations: 0 }));
}

const gpusOf = ({ layout }: PlanRequest): number => layout.tensor * layout.pipeline * layout.data * layout.context;

describe('the scenario of a config', () => {
  it('stays through edits of one value: GPUs, batch, sequence, and the layout while it runs', async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...configs), edit, async (config, change) => {
        const before = await firstOf(config);
        const sized = change.section === 'layout';
        const run = await readRun(edited(config, change));
        const after = resolved(run, planScenario(before));
        assert.equal(after.training.globalBatch, before.training.globalBatch);
        assert.equal(after.training.sequenceLength, before.training.sequenceLength);
        assert.equal(after.cluster.gpu.name, before.cluster.gpu.name);
        const isForced = sized && gpusOf(after) > gpusOf(before);
        if (!isForced) assert.equal(gpusOf(after), gpusOf(before));
        for (const { key, reason } of scenarioChanges(planScenario(before), after)) {
          if (isForced && key === 'cluster.nodes') continue;
          assert.ok(key.startsWith('layout.'), key);
          if (!sized && (key === 'layout.tensor' || key === 'layout.pipeline'))
            assert.match(toText(reason), /of the first plan no longer runs/);
        }
      }),
      { numRuns: cases(200, 2000) },
    );
  });

  it('makes more layers never faster', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...configs.filter(({ model }) => model['layers'] !== 80)),
        fc.constantFrom(1.25, 1.5, 2),
        async (config, times) => {
          const before = await firstOf(config);
          const more = edited(config, { section: 'model', key: 'layers', value: Math.round(times * before.model.layers) });
          const after = resolved(await readRun(more), planScenario(before));
          assert.ok(planned(after).iterationMs > planned(before).iterationMs);
        },
      ),
      { numRuns: cases(5, 80) },
    );
  });

  it('makes more layers never faster where nothing is remembered: the work of a step is the same, of more GPUs if memory asks for them', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...configs.filter(({ model }) => model['layers'] !== 80)),
        fc.constantFrom(1.25, 1.5, 2),
        async (config, times) => {
          const before = await firstOf(config);
          const after = resolved(
            await readRun(edited(config, { section: 'model', key: 'layers', value: Math.round(times * before.model.layers) })),
          );
          assert.ok(gpusOf(after) >= gpusOf(before));
          if (gpusOf(after) === gpusOf(before)) assert.equal(after.training.globalBatch, before.training.globalBatch);
          const perGpu = (request: PlanRequest): number => planned(request).tokensPerSecond / gpusOf(request);
          assert.ok(perGpu(after) < perGpu(before));
        },
      ),
      { numRuns: cases(5, 80) },
    );
  });
});

describe('a what-if', () => {
  it('holds the batch, or sets the one it takes where the replicas do not divide it', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...configs),
        fc.constantFrom(...whatIfKeys),
        fc.constantFrom(1 as const, -1 as const),
        async (config, key, direction) => {
          const before = await firstOf(config);
          const sizes = steppedSizes(before, 'several', whatIfSizes(before), key, direction);
          if (sizes === null) return;
          const after = resolved(withSizes(await readRun(config), whatIfSets(before, sizes)), planScenario(before));
          assert.deepEqual(whatIfSizes(after)['layout.data'], sizes['layout.data']);
          assert.equal(after.training.globalBatch, sizes['training.globalBatch']);
          if (before.training.globalBatch % after.layout.data === 0) assert.equal(after.training.globalBatch, before.training.globalBatch);
        },
      ),
      { numRuns: cases(100, 1000) },
    );
  });
});
