import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { launchedFit } from '../../../../src/core/time-model/launches';
import { profiledStageCost } from '../../../../src/core/time-model/profile-cost';
import { profileKinks } from '../../../../src/core/time-model/context-kinks';
import { costProvenance } from '../../../../src/core/time-model/provenance';
import { say } from '../../../../src/core/sentence';
import type { Profile, TimeFit } from '../../../../src/core/domain/profile';
import { timeFunction } from '../../../../src/core/measured-profile/fit';
import { golden } from '../../../golden/data';
import { profileWith, requestWith } from '../measured-profile/profiles';

/** GPT-2's layer on an H200 (docs/profiling.md, Measured on an H200): 0.14 ms forward and 0.53 backward up to 900 tokens. */
const flat = (ms: number, longMs: number): TimeFit => ({
  rows: { tokens: [64, 900, 1024], ms: [ms, ms, longMs] },
  square: 0,
  context: { constant: 0, perRow: 0, perContext: 0, perRowContext: 0, perContextSquare: 0 },
});
const layer = { forward: flat(0.14, 0.15), backward: flat(0.53, 0.58) };
/** 16 nodes forward, 5 of them products, and 104 with 13 backward; 4.3 and 17 µs each. */
const launches = { perNodeUs: 4.3, perProductUs: 17, forwardMs: (11 * 4.3 + 5 * 17) / 1000, backwardMs: (91 * 4.3 + 13 * 17) / 1000 };
const h200: Profile = profileWith({ launches, fit: { layer, embedding: null, head: null } });

const inputs = (cudaGraphs?: 'layers' | 'iteration') => requestWith({ training: cudaGraphs === undefined ? {} : { cudaGraphs } });
const middle = { first: false, last: false } as const;

describe('launches of a measured layer', () => {
  it('are part of its time where the trainer launches node by node', () => {
    assert.equal(launchedFit(layer, h200, inputs().training), layer);
    assert.equal(profiledStageCost(inputs(), h200, 1, middle)(1, 64, 0).forwardMs, 0.14);
  });

  it('leave what a CUDA graph of PyTorch took on that GPU, within a quarter, which the measured times miss by a factor of 2 to 3.6', () => {
    const { slices } = golden('h200') as {
      readonly slices: { readonly columns: string[]; readonly rows: (string | number | boolean | null)[][] };
    };
    const column = (name: string) => slices.columns.indexOf(name);
    const graphed = slices.rows.filter((row) => row[column('model')] === 'gpt2' && row[column('graph')] === true);
    assert.deepEqual(
      graphed.map((row) => row[column('tokens')]),
      [64, 256, 1024],
    );
    const cost = profiledStageCost(inputs('iteration'), h200, 1, middle);
    for (const row of graphed) {
      const [tokens, ms] = [row[column('tokens')] as number, row[column('forward')] as number];
      assert.ok(Math.abs(cost(1, tokens, 0).forwardMs / ms - 1) < 0.25, `${tokens}: ${cost(1, tokens, 0).forwardMs}`);
      assert.ok(timeFunction(layer.forward)(1, tokens, 0) / ms > 2, `${tokens}`);
    }
  });

  it('never leave less than their share of a graph, however much the chains of nodes took', () => {
    const slow = { ...h200, launches: { ...launches, forwardMs: 5 } };
    const { forward } = launchedFit(layer, slow, inputs('layers').training);
    assert.ok(Math.abs(forward.rows.ms[0]! - 0.28 * 0.14) < 1e-12);
    for (const ms of forward.rows.ms) assert.ok(ms > 0);
  });

  it('shift every length by the same, so that contexts stay affine where they were', () => {
    const [eager, graphed] = [profiledStageCost(inputs(), h200, 3, middle), profiledStageCost(inputs('layers'), h200, 3, middle)];
    const shift = (tokens: number) => eager(1, tokens, 0).backwardMs - graphed(1, tokens, 0).backwardMs;
    assert.ok(Math.abs(shift(64) - shift(1024)) < 1e-9);
    assert.deepEqual(profileKinks(inputs('layers'), h200, 1, [64]), profileKinks(inputs(), h200, 1, [64]));
  });

  it('are named where the plan leaves them out', () => {
    const request = { ...inputs('layers'), profile: { file: 'p.json', profile: h200 } };
    const because = (asked: typeof request) => say(costProvenance(asked, { inputs: asked, nodeKinds: [asked] }).errorBecause);
    assert.match(because(request), /launches that the profile measured are counted as those of CUDA graphs/);
    assert.doesNotMatch(because({ ...inputs(), profile: request.profile }), /launches/);
  });

  it('stay for a CPU, for experts that graphs of layers leave out, and for profiles that did not measure them', () => {
    const { training } = inputs('layers');
    const cpu = { ...h200, device: { ...h200.device, kind: 'cpu' as const } };
    const experts = { ...h200, shape: { ...h200.shape, experts: { count: 8, active: 2 } } };
    for (const profile of [cpu, experts, { ...h200, launches: null }]) assert.equal(launchedFit(layer, profile, training), layer);
    assert.notEqual(launchedFit(layer, experts, inputs('iteration').training), layer);
  });
});
