import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { ExpectedError } from '../../../../src/core/errors';
import { parseProfile } from '../../../../src/core/measured-profile/file';
import { timeFunction } from '../../../../src/core/measured-profile/fit';
import { resolveRun } from '../../../../src/core/plan-request/resolve';
import { makePlan } from '../../../../src/core/planner/make-plan';
import { buildPipeline } from '../../../../src/core/planner/predict/pipeline';
import { chosenCandidate } from '../../../../src/core/planner/plan';
import { boundaryMs } from '../../../../src/core/time-model/boundary';
import { overridden } from '../../../../src/core/domain/located';
import type { PlanRequest } from '../../../../src/core/domain/request';
import { load } from '../config-files/files';
import { toText } from '../../sentence-text';

const folder = path.join(import.meta.dirname, '../../../fixtures/measured/torch');
const read = (name: string): string => readFileSync(path.join(folder, name), 'utf8');
const text = read('profile.json');

interface Written {
  readonly sequenceLength: number;
  readonly optimizer: { readonly ranks: readonly { readonly parameters: number; readonly ms: number }[] };
  readonly sends: readonly { readonly bytes: number; readonly ms: number }[];
  readonly layers: readonly { readonly samples: readonly WrittenSample[] }[];
  readonly head: readonly WrittenSample[];
}
interface WrittenSample {
  readonly batch: number;
  readonly tokens: number;
  readonly context: number;
  readonly forward: { readonly ms: number };
  readonly backward: { readonly ms: number };
  readonly backwardWeight: { readonly ms: number };
}
const written = JSON.parse(text) as Written;
const layer = written.layers[0]?.samples ?? [];

async function requested(profileText = text, changed: object = {}): Promise<PlanRequest> {
  const run = await load({ 'cpu.json': JSON.stringify({ ...(JSON.parse(read('cpu.json')) as object), ...changed }) });
  const profile = overridden({ file: 'profile.json', profile: parseProfile(profileText, 'profile.json') });
  return resolveRun({ ...run, profile }, { gpu: 'A100-80GB', nodes: null, gpusPerNode: null });
}

describe('What the PyTorch runtime measured, as a profile', () => {
  const profile = parseProfile(text, 'profile.json');

  it('has the medians of every slice, and the part of backward that makes gradients of weights', () => {
    assert.equal(profile.source, 'pytorch');
    assert.deepEqual(
      profile.samples.layer.map(({ batch, tokens, context, forwardMs, backwardMs }) => [batch, tokens, context, forwardMs, backwardMs]),
      layer.map(({ batch, tokens, context, forward, backward }) => [batch, tokens, context, forward.ms, backward.ms]),
    );
    assert.deepEqual([profile.samples.embedding.length, profile.samples.head.length], [written.head.length, written.head.length]);
    const { weights } = profile.trainer ?? {};
    assert.ok(weights);
    for (const { tokens, backwardWeight } of layer.filter(({ context }) => context === 0))
      assert.ok(Math.abs(timeFunction(weights.layer)(1, tokens, 0) / backwardWeight.ms - 1) < 1e-9, `${tokens} tokens`);
  });

  it('replaces links and optimizer that a plan assumes, and the error bar names what is measured', async () => {
    const request = await requested();
    const { cluster, constants } = request;
    const [least] = written.sends;
    const { inputs } = buildPipeline(request);
    for (const { bytes, ms } of written.sends.filter((one) => one.bytes % (4 * 128) === 0 && one.bytes <= 4 * 128 * 256)) {
      const sent = boundaryMs(inputs, 1, bytes / (4 * 128));
      assert.ok(sent <= ms * (1 + 1e-12) && sent >= Math.min(...written.sends.map((one) => one.ms)), `${bytes} bytes: ${sent}`);
    }
    assert.ok(least && cluster.links.sends?.joined?.bytes[0] === least.bytes);
    const updates = written.optimizer.ranks.map(({ parameters, ms }) => (1e6 * ms) / parameters);
    assert.equal(constants.optimizerNsPerParameter, Math.max(...updates));
    const plan = makePlan(request);
    assert.match(toText(plan.cost.description), /PyTorch 2\.15/);
    assert.match(toText(plan.cost.errorBecause), /^layer times, sends, the optimizer, weight gradients are measured where it trains/);
    const most = Math.max(...written.optimizer.ranks.map(({ ms }) => ms));
    // the planner pads the vocabulary and counts one of its matrices for every stage
    assert.ok(Math.abs(chosenCandidate(plan).optimizerMs / most - 1) < 0.02, `${chosenCandidate(plan).optimizerMs} of ${most} ms`);
  });

  it('splits backward as it was measured', async () => {
    const { stages } = buildPipeline(await requested());
    const [tokens, context] = [128, 0];
    const same = layer.find((one) => one.tokens === tokens && one.context === context);
    const time = stages[0]?.cost(1, tokens, context);
    assert.ok(same && time);
    assert.ok(Math.abs(time.backwardWeightMs - 2 * same.backwardWeight.ms) < 1e-9);
  });

  it('leaves links that a file sets', async () => {
    const device = { kind: 'gpu', name: 'NVIDIA A100-SXM4-80GB', memoryBytes: 80 * 2 ** 30 };
    const onGpu = JSON.stringify({ ...written, device });
    const [gpu, nicGBps] = ['A100-80GB', 7];
    const given = await requested(onGpu, { cluster: { gpu, links: { nicGBps } } });
    assert.deepEqual([given.cluster.links.sends, given.cluster.links.nicGBps], [undefined, nicGBps]);
    const assumed = await requested(onGpu, { cluster: { gpu } });
    assert.deepEqual(assumed.cluster.links.sends, profile.trainer?.sends);
  });

  it('takes latency and bandwidth of all-reduces from a line through them', async () => {
    const all = [2 ** 10, 2 ** 16, 2 ** 22].map((bytes) => ({
      kind: 'all-reduce',
      group: 'tp',
      ranks: 2,
      joined: true,
      bytes,
      ms: 0.05 + bytes / 2e6,
    }));
    const made = JSON.stringify({ ...written, collectives: all });
    const { cluster } = await requested(made);
    assert.ok(Math.abs(cluster.links.allReduceLatencyUs.base - 50) < 1e-6);
    for (const size of [2, 4, 8] as const) assert.ok(Math.abs(cluster.links.intraNodeBusGBps[size] - 2) < 1e-9);
  });

  it('refuses a damaged file at the value, and a plan of another model', async () => {
    for (const [damaged, code] of [
      [text.replace(/"ms": [\d.]+/, '"ms": "fast"'), 'profile-invalid'],
      [text.replace('"version": 1', '"version": 2'), 'profile-version'],
    ] as const)
      assert.throws(() => parseProfile(damaged, 'profile.json'), (error) => error instanceof ExpectedError && error.code === code && error.place !== undefined); // prettier-ignore
    const model = { layers: 4, hidden: 256, heads: 4, kvHeads: 2, ffn: 384, gatedMlp: true, vocab: 512 };
    await assert.rejects(requested(text, { model }), (error) => error instanceof ExpectedError && error.code === 'profile-mismatch');
  });
});
