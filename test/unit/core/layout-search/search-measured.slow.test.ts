import assert from 'node:assert/strict';
import type { CostTable } from '../../../../src/core/domain/slice-cost';
import { makePlan } from '../../../../src/core/planner/make-plan';
import { chosenCandidate, candidatePeakBytes } from '../../../../src/core/planner/plan';
import type { PlanRequest } from '../../../../src/core/domain/request';
import { searchLayouts } from '../../../../src/core/layout-search/assemble';
import { createEvaluator } from '../../../../src/core/layout-search/evaluate';
import { whatIfs } from '../../../../src/core/layout-search/improvements';
import { toPlanRequest } from '../../../../src/core/layout-search/request-of';
import { stepParts, type SearchResult } from '../../../../src/core/layout-search/result';
import { fitErrors, fitPart } from '../../../../src/core/measured-profile/fit';
import type { Cell, Profile, Sample } from '../../../../src/core/domain/profile';
import { rankLayerShape } from '../../../../src/core/measured-profile/shape';
import { gpt, request } from '../../../golden/requests';
import { toText } from '../../sentence-text';

/** Sixteen A100; a layer is half a millisecond a kilotoken forward. */
const launched = request('A100-40GB', gpt(16, 2048, 16, 50304), {
  training: { globalBatch: 16, sequenceLength: 1024, attention: 'flash', dropout: false, zeroStage: 1, precision: 'fp16' },
  layout: { tensor: 2, pipeline: 4, data: 2 },
});
const base = { ...launched, slicing: { unit: 128, scheme: null } };

function profileOf({ model, layout }: PlanRequest): Profile {
  const forwardMs = ({ batch, tokens, context }: Cell): number => 0.05 + batch * tokens * (5e-4 + 1e-7 * context);
  const sample = (cell: Cell): Sample => ({
    ...cell,
    forwardMs: forwardMs(cell),
    backwardMs: 2 * forwardMs(cell),
    rounds: 4,
    holdOut: false,
  });
  const lengths = [16, 64, 128, 256, 512, 1024];
  const cells = lengths.flatMap((tokens) => [0, 256, 512].map((context) => ({ batch: 1, tokens, context })));
  const layer = [...cells, { batch: 2, tokens: 512, context: 0 }, { batch: 2, tokens: 1024, context: 0 }].map(sample);
  const ends = lengths.map((tokens) => sample({ batch: 1, tokens, context: 0 }));
  const [fit, end] = [fitPart(layer), fitPart(ends)];
  assert.ok(fit !== null && end !== null);
  return {
    version: 1,
    kind: 'terapipe-profile',
    status: 'complete',
    error: null,
    measuredAt: '2026-01-01T00:00:00.000Z',
    source: 'onnxruntime',
    device: { kind: 'gpu', name: 'NVIDIA A100-SXM4-40GB', memoryBytes: 40 * 2 ** 30, driver: null },
    provider: 'cuda',
    versions: {},
    title: 'half',
    tensor: layout.tensor,
    precision: 'fp16',
    tf32: null,
    launches: null,
    sequenceLength: 1024,
    largestBatch: 2,
    shape: rankLayerShape(model, layout.tensor),
    attention: { forward: 'MultiHeadAttention', backward: 'explicit' },
    threads: 1,
    samples: { layer, embedding: ends, head: ends },
    skipped: [],
    twoLayerRatio: 2,
    fit: { layer: fit, embedding: end, head: end },
    errors: fitErrors(fit, layer),
    seconds: 1,
    warnings: [],
  };
}

const table: CostTable = {
  tokens: [64, 256, 1024],
  contexts: [0, 512],
  forwardMs: [[0.6, 0.7], [1.1, 1.3], [3, 4]], // prettier-ignore
  backwardMs: [[1.2, 1.4], [2.3, 2.7], [6, 8]], // prettier-ignore
};

function assertOpensTheSame(wanted: PlanRequest, { best, paretoFront, perSchedule }: SearchResult): void {
  for (const found of [best, ...paretoFront, ...perSchedule]) {
    const chosen = chosenCandidate(makePlan(toPlanRequest(wanted, found)));
    assert.deepEqual(
      [chosen.iterationMs, candidatePeakBytes(chosen)],
      [found.iterationMs, found.peakBytes],
      `${toText(found.name)}, ${JSON.stringify(found.point)}`,
    );
    const sum = stepParts.reduce((total, part) => total + found.parts[part], 0);
    assert.ok(Math.abs(sum - found.iterationMs) < 1e-9 * found.iterationMs);
    for (const part of stepParts) assert.ok(found.parts[part] > -1e-6 * found.iterationMs, `${part} of ${toText(found.name)}`);
    // bounds are of equal slices
    if (toText(found.name).endsWith('solved slices')) continue;
    const bound = createEvaluator(wanted).pointBound(found.point);
    assert.ok(bound.iterationMs <= found.iterationMs && bound.peakBytes <= found.peakBytes, toText(found.name));
  }
}

describe('a search with measured times', () => {
  it('of a profile chooses all but what it was measured for, and opens as the same plan', () => {
    const wanted = { ...base, profile: { file: 'half.json', profile: profileOf(base) } };
    const result = searchLayouts({ request: wanted, fixed: new Set(['zeroStage', 'offloadOptimizer']) });
    assertOpensTheSame(wanted, result);
    assert.deepEqual(result.measured, {
      by: 'profile',
      keys: ['tensor', 'context', 'contextParallelComm', 'expert', 'expertTensor'],
      mostMicroBatch: 2,
    });
    assert.deepEqual([result.cost.kind, result.proved], ['profile', true]);
    const points = [...result.paretoFront, ...result.runnersUp.map(({ plan }) => plan)].map(({ point }) => point);
    for (const { layout, training } of points) assert.ok(layout.tensor === 2 && layout.context === 1 && training.microBatch <= 2);
    assert.ok(new Set(points.map(({ layout }) => layout.pipeline)).size > 1);
    assert.ok(new Set(result.perSchedule.map(({ point }) => point.schedule)).size > 8);
  });

  it('is as fast as by the profile, not as by the analytic model', () => {
    const profile = profileOf(base);
    const sizes = new Set([
      'data',
      'pipeline',
      'recompute',
      'zeroStage',
      'offloadOptimizer',
      'microBatch',
      'schedule',
      'virtualStages',
    ] as const);
    const wanted = { ...base, schedule: '1F1B' as const, profile: { file: 'half.json', profile } };
    const [{ best }, { best: analytic }] = [
      searchLayouts({ request: wanted, fixed: sizes }),
      searchLayouts({ request: { ...wanted, profile: null }, fixed: sizes }),
    ];
    assert.ok(Math.abs(best.iterationMs / analytic.iterationMs - 1) > 0.2);
  });

  it('of a table chooses schedule, virtual stages and micro-batch of the stage that was measured', () => {
    const wanted = { ...base, costTable: table };
    const result = searchLayouts({ request: wanted, fixed: new Set(['zeroStage', 'offloadOptimizer', 'pipeline']) });
    assertOpensTheSame(wanted, result);
    assert.equal(result.cost.kind, 'table');
    assert.equal(result.measured?.keys.includes('pipeline'), false);
    assert.ok(result.measured.keys.includes('recompute'));
    assert.ok(result.perSchedule.every(({ point }) => point.layout.pipeline === 4 && point.layout.tensor === 2));
    assert.ok(result.perSchedule.length > 8);
  });

  it('lets go of nothing that was measured to see what would help', () => {
    const wanted = { ...base, profile: { file: 'half.json', profile: profileOf(base) } };
    const problem = {
      request: wanted,
      fixed: new Set(['tensor', 'recompute', 'zeroStage', 'offloadOptimizer', 'virtualStages', 'schedule'] as const),
    };
    const looks = whatIfs(problem, searchLayouts(problem));
    assert.ok(!looks.some(({ change }) => toText(change).includes('issued')));
    for (const plan of looks.map(({ searchAgain: look }) => look().plan)) assert.ok(plan === null || plan.point.layout.tensor === 2);
  });
});
