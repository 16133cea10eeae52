import assert from 'node:assert/strict';
import { allToAllSeconds } from '../../../../src/core/time-model/collectives';
import { profiledStageCost } from '../../../../src/core/time-model/profile-cost';
import { profileProvenance, rooflineProvenance } from '../../../../src/core/time-model/provenance';
import { llama3, mixtral, request } from '../../../golden/requests';
import { profileWith } from '../slice-times/profiles';

describe('error bar of an analytic cost', () => {
  const errorPercent = (model: ReturnType<typeof mixtral>, layout: object) =>
    rooflineProvenance(request('B200', model, { training: { attention: 'flash', precision: 'bf16' }, layout }), 4, 8192).errorPercent;

  it('is wider where experts are exchanged between nodes, which no run has measured', () => {
    assert.equal(errorPercent(mixtral(4), { data: 8, expert: 8 }), 15);
    assert.equal(errorPercent(mixtral(4), { tensor: 2, data: 8, expert: 8 }), 35);
    assert.equal(errorPercent(llama3('70b', 4), { tensor: 2, data: 8, expert: 8 }), 15);
  });
});

describe('error bar of a profiled cost', () => {
  const profile = profileWith();
  const asked = (layout: object, training: object = {}) =>
    request('B200', mixtral(4), { training: { attention: 'flash', precision: 'bf16', sequenceLength: 512, ...training }, layout });
  const provenance = (of: typeof profile, layout: object, training: object = {}) =>
    profileProvenance({ file: 'p.json', profile: of }, asked(layout, training));

  it('names the collectives inside a layer, which one GPU cannot measure', () => {
    const routed = { ...profile, shape: { ...profile.shape, experts: { count: 2, active: 2 } } };
    assert.doesNotMatch(provenance(profile, { expert: 4 }).errorBecause, /parallel ranks/);
    assert.match(provenance(profile, { tensor: 2, expert: 4 }).errorBecause, /between tensor-parallel ranks/);
    assert.match(provenance(routed, { tensor: 2, expert: 4 }).errorBecause, /between tensor- and expert-parallel ranks/);
    assert.ok(provenance(routed, { expert: 4 }).errorPercent > provenance(routed, { expert: 1 }).errorPercent);
  });

  it('is wider, and says why, where the plan asks for what was not measured', () => {
    const inside = provenance(profile, {});
    const long = provenance(profile, {}, { sequenceLength: 2 * profile.sequenceLength });
    const large = provenance(profile, {}, { microBatch: 4 * profile.largestBatch });
    assert.match(long.errorBecause, /sequences were measured to .* only/);
    assert.match(large.errorBecause, /micro-batches were measured to .* only/);
    for (const { errorPercent } of [long, large]) assert.ok(errorPercent > inside.errorPercent);
  });

  it('names ends that were not measured and a measurement that was stopped', () => {
    const { fit } = profile;
    assert.ok(fit !== null);
    const cut = { ...profile, status: 'partial' as const, error: 'cancelled', fit: { ...fit, embedding: null, head: null } };
    assert.match(provenance(cut, {}).errorBecause, /the embedding, the head/);
    assert.match(provenance(cut, {}).description, /stopped early/);
  });
});

describe('cost from a profile', () => {
  it('adds the all-to-alls of the experts to what one GPU measured', () => {
    const at = (expert: number) =>
      request('B200', mixtral(4), { training: { attention: 'flash', precision: 'bf16' }, layout: { data: 8, expert } });
    const forwardMs = (expert: number) =>
      profiledStageCost(at(expert), profileWith(), 4, { first: false, last: false })(1, 512, 0).forwardMs;
    const exchange = allToAllSeconds(2 * 2 * 512 * 4096, 8, 1, at(8).cluster);
    assert.ok(Math.abs((forwardMs(8) - forwardMs(1)) / (4 * 2e3 * exchange) - 1) < 1e-9);
  });
});
