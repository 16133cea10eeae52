import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { loadRun } from '../../../load-run';
import type { Run } from '../../../../src/core/run/run';
import { chosenCandidate } from '../../../../src/core/planner/plan';
import { makePlan } from '../../../../src/core/planner/make-plan';
import { resolveRun } from '../../../../src/core/plan-request/resolve';
import { profileText } from '../../../../src/core/measured-profile/file';
import { fitErrors, fitPart } from '../../../../src/core/measured-profile/fit';
import type { Cell, Profile, Sample } from '../../../../src/core/domain/profile';
import { rankLayerShape } from '../../../../src/core/measured-profile/shape';
import { toText } from '../../sentence-text';

const model = { layers: 8, hidden: 512, heads: 8, vocab: 1000 };
const tokens = [8, 16, 32, 64, 128, 256, 512];
const contexts = [0, 64, 256];
const defaults = { gpu: 'A100-40GB', nodes: 1, gpusPerNode: 4 } as const;

async function runOf(more: Readonly<Record<string, unknown>> = {}, files: Readonly<Record<string, string>> = {}): Promise<Run> {
  const text = JSON.stringify({
    model,
    training: { sequenceLength: 512, globalBatch: 8, precision: 'fp16' },
    layout: { tensor: 1, pipeline: 4, data: 1 },
    ...more,
  });
  return loadRun('terapipe.json', text, (_, name) => Promise.resolve({ file: name, text: files[name] ?? '' }));
}

/** A layer that takes `factor` us a token plus attention, twice that backward. */
function profileFor(run: Run, name: string, factor = 20): Profile {
  const forwardMs = ({ batch, tokens: length, context }: Cell): number => batch * 1e-3 * (50 + factor * length + 0.01 * length * context);
  const sample = (cell: Cell): Sample => ({
    ...cell,
    forwardMs: forwardMs(cell),
    backwardMs: 2 * forwardMs(cell),
    rounds: 4,
    holdOut: false,
  });
  const cells = tokens.flatMap((length) => contexts.map((context) => ({ batch: 1, tokens: length, context })));
  const layer = [...cells, { batch: 2, tokens: 256, context: 0 }, { batch: 2, tokens: 512, context: 0 }].map(sample);
  const ends = tokens.map((length) => sample({ batch: 1, tokens: length, context: 0 }));
  const fit = fitPart(layer);
  const end = fitPart(ends);
  assert.ok(fit !== null && end !== null);
  return {
    version: 1,
    kind: 'terapipe-profile',
    status: 'complete',
    error: null,
    measuredAt: '2026-01-01T00:00:00.000Z',
    source: 'onnxruntime',
    device: { kind: name.includes('CPU') ? 'cpu' : 'gpu', name, memoryBytes: 40 * 2 ** 30, driver: null },
    provider: 'cpu',
    versions: {},
    title: 'small',
    tensor: 1,
    precision: 'fp16',
    tf32: null,
    launches: null,
    sequenceLength: 768,
    largestBatch: 2,
    shape: rankLayerShape(resolveRun({ ...run, profile: { value: null, source: { kind: 'override' } } }, defaults).model, 1),
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

const a100 = 'NVIDIA A100-SXM4-40GB';

describe('a plan from a profile', () => {
  it('takes layer times, embedding and head from the fit', async () => {
    const run = await runOf();
    const found = [{ file: 'p.json', profile: profileFor(run, a100) }];
    const plan = makePlan(resolveRun({ ...run, schedule: { value: '1F1B', source: { kind: 'override' } } }, defaults, found));
    const { busyMs } = chosenCandidate(plan);
    const layerMs = 1e-3 * (50 + 20 * 512) * 3;
    const [first = 0, second = 0, , last = 0] = busyMs;
    // 8 micro-batches, two layers a stage; the ends cost as much as a layer in this profile.
    assert.ok(Math.abs(second / (8 * 2 * layerMs) - 1) < 0.02, String(second));
    for (const end of [first, last]) assert.ok(Math.abs(end / (8 * 3 * layerMs) - 1) < 0.02, String(end));
  });

  it('names the profile, its device and its error, and what stays analytic', async () => {
    const run = await runOf();
    const { cost, request } = makePlan(resolveRun(run, defaults, [{ file: '/x/p.json', profile: profileFor(run, a100) }]));
    assert.equal(cost.kind, 'profile');
    assert.match(toText(cost.description), /NVIDIA A100-SXM4-40GB.*p\.json.*left out in turn/);
    assert.match(toText(cost.errorBecause), /measured; sends, gradient exchange and optimizer are not/);
    assert.match(toText(cost.errorBecause), /weight gradients' share of a split backward is from the analytic model/);
    assert.equal(request.profile?.file, '/x/p.json');
    assert.ok(request.assumptions.some(({ key, value }) => key === 'cost.profile' && value === 'p.json'));
  });

  it('shows what the analytic model would have planned', async () => {
    const run = await runOf();
    const plan = makePlan(resolveRun(run, defaults, [{ file: 'p.json', profile: profileFor(run, a100) }]));
    const analytic = makePlan(resolveRun(run, defaults));
    assert.equal(plan.analytic?.iterationMs, chosenCandidate(analytic).iterationMs);
    assert.ok(
      plan.reasons.some((reason) => toText(reason).startsWith('the analytic model predicts')),
      plan.reasons.map((one) => toText(one)).join('\n'),
    );
    assert.equal(analytic.analytic, null);
  });

  it('cuts sequences otherwise when short slices cost more', async () => {
    const run = await runOf({ schedule: 'TeraPipe' });
    const slices = (issueUs: number): number => {
      const profile = profileFor(run, a100);
      const rows = (fit: NonNullable<Profile['fit']>['layer']['forward']) => ({
        ...fit,
        rows: { ...fit.rows, ms: fit.rows.ms.map((ms) => ms + issueUs / 1e3) },
      });
      const fit = profile.fit;
      assert.ok(fit !== null);
      const layer = { forward: rows(fit.layer.forward), backward: rows(fit.layer.backward) };
      const plan = makePlan(resolveRun(run, defaults, [{ file: 'p.json', profile: { ...profile, fit: { ...fit, layer } } }]));
      return chosenCandidate(plan).scheme.reduce((sum, chunk) => sum + chunk.tokens.length, 0);
    };
    assert.ok(slices(5000) < slices(0), `${slices(5000)} and ${slices(0)}`);
  });

  it('shares experts as the profile that the files name has them', async () => {
    const mixture = { ...model, experts: 8, activeExperts: 2 };
    const open = { model: mixture, layout: {}, cost: { profile: 'p.json' } };
    const one = profileFor(await runOf({ model: mixture }), a100);
    for (const count of [8, 2, 1]) {
      const text = profileText({ ...one, shape: { ...one.shape, experts: { count, active: 2 } } });
      const { layout, assumptions, profile } = resolveRun(await runOf(open, { 'p.json': text }), { ...defaults, nodes: 2 });
      assert.deepEqual([layout.expert, profile?.file], [8 / count, 'p.json']);
      assert.match(toText(assumptions.find(({ key }) => key === 'layout.expert')?.reason), /profile was measured for it/);
    }
    const written = runOf({ ...open, layout: { expert: 4 } }, { 'p.json': profileText(one) });
    await assert.rejects(
      async () => resolveRun(await written, { ...defaults, nodes: 2 }),
      /its layer has 8 experts per rank, 2 active, not 2/,
    );
  });

  it('passes over a found profile of another GPU and explains why', async () => {
    const run = await runOf();
    const request = resolveRun(run, defaults, [{ file: '/x/h100.json', profile: profileFor(run, 'NVIDIA H100 80GB HBM3') }]);
    assert.equal(request.profile, null);
    const assumed = request.assumptions.find(({ key }) => key === 'cost.profile');
    assert.equal(assumed?.value, 'none');
    assert.match(toText(assumed.reason), /^h100\.json: it was measured on NVIDIA H100 80GB HBM3, not on A100-40GB/);
  });

  it('passes over one where tokens further on are predicted or activations leave for the host, which it has no times of', async () => {
    for (const [training, reason] of [
      [{ mtpLayers: 1 }, /multi-token prediction/],
      [{ activationOffloadLayers: 1 }, /copies to the host/],
    ] as const) {
      const run = await runOf({ training: { sequenceLength: 512, globalBatch: 8, precision: 'fp16', ...training } });
      const request = resolveRun(run, defaults, [{ file: 'p.json', profile: profileFor(run, a100) }]);
      assert.equal(request.profile, null);
      assert.match(toText(request.assumptions.find(({ key }) => key === 'cost.profile')?.reason), reason);
    }
  });

  it('refuses a named profile of another layer, at the line that names it', async () => {
    const other = await runOf({ model: { ...model, hidden: 256, heads: 4 } });
    const text = profileText(profileFor(other, a100));
    const run = await runOf({ cluster: { gpu: 'A100-40GB' }, cost: { profile: 'p.json' } }, { 'p.json': text });
    assert.throws(
      () => resolveRun(run, defaults),
      (error: unknown) => {
        const { code, message, place } = error as { code: string; message: string; place?: { file: string } };
        assert.equal(code, 'profile-mismatch');
        assert.match(message, /hidden width 256, not 512/);
        assert.equal(place?.file, 'terapipe.json');
        return true;
      },
    );
  });

  it('plans for the device of a named profile when no file names a GPU', async () => {
    const cpu = profileFor(await runOf(), 'Some CPU');
    const run = await runOf({ cost: { profile: 'p.json' } }, { 'p.json': profileText(cpu) });
    const plan = makePlan(resolveRun(run, defaults));
    assert.equal(plan.request.cluster.gpu.name, 'Some CPU');
    assert.equal(plan.cost.kind, 'profile');
  });

  it('refuses a named profile when a file names another GPU', async () => {
    const cpu = profileFor(await runOf(), 'Some CPU');
    const run = await runOf({ cluster: { gpu: 'H200' }, cost: { profile: 'p.json' } }, { 'p.json': profileText(cpu) });
    assert.throws(() => resolveRun(run, defaults), /measured on a CPU \(Some CPU\), not on H200/);
  });

  it('uses none when the file sets none', async () => {
    const run = await runOf({ cost: { profile: 'none' } });
    assert.equal(resolveRun(run, defaults, [{ file: 'p.json', profile: profileFor(run, a100) }]).profile, null);
  });

  it('takes the analytic time of an end that was not measured, and reports it', async () => {
    const run = await runOf();
    const whole = profileFor(run, a100);
    assert.ok(whole.fit !== null);
    const cut = { ...whole, fit: { ...whole.fit, embedding: null, head: null } };
    const plan = makePlan(
      resolveRun({ ...run, schedule: { value: '1F1B', source: { kind: 'override' } } }, defaults, [{ file: 'p.json', profile: cut }]),
    );
    const { busyMs } = chosenCandidate(plan);
    assert.ok((busyMs[3] ?? 0) > (busyMs[1] ?? 0), busyMs.join(', '));
    assert.match(toText(plan.cost.errorBecause), /the embedding, the head/);
  });

  it('plans for the tensor size of a named profile when no file fixes one', async () => {
    const profile = { ...profileFor(await runOf(), 'Some CPU'), tensor: 1 };
    const own = await runOf({ layout: { pipeline: 4 }, cost: { profile: 'p.json' } }, { 'p.json': profileText(profile) });
    assert.equal(resolveRun(own, defaults).layout.tensor, 1);
  });

  it('adds a recomputed forward to each backward', async () => {
    const run = await runOf();
    const busy = async (recompute: string): Promise<number> => {
      const own = await runOf({ schedule: '1F1B', training: { sequenceLength: 512, globalBatch: 8, precision: 'fp16', recompute } });
      return chosenCandidate(makePlan(resolveRun(own, defaults, [{ file: 'p.json', profile: profileFor(run, a100) }]))).busyMs[1] ?? 0;
    };
    assert.ok(Math.abs((await busy('full')) / (await busy('none')) - 4 / 3) < 0.01);
  });
});
