import assert from 'node:assert/strict';
import { allToAllSeconds } from '../../../../src/core/cost/collectives';
import { profiledStageCost } from '../../../../src/core/cost/profile-cost';
import { profileProvenance, rooflineProvenance } from '../../../../src/core/cost/provenance';
import { llama3, mixtral, request } from '../../../golden/requests';
import { profileWith } from '../profile/profiles';

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
  it('names the exchanges inside a layer, which one GPU cannot measure', () => {
    const dense = profileWith();
    const routed = { ...dense, shape: { ...dense.shape, experts: { count: 2, active: 2 } } };
    const because = (profile: typeof dense, layout: { tensor: number; expert: number }) =>
      profileProvenance({ file: 'p.json', profile }, layout).errorBecause;
    assert.match(because(dense, { tensor: 1, expert: 4 }), /measured; sends,/);
    assert.match(because(dense, { tensor: 2, expert: 4 }), /between tensor-parallel ranks/);
    assert.match(because(routed, { tensor: 2, expert: 4 }), /between tensor- and expert-parallel ranks/);
    const { errorPercent } = profileProvenance({ file: 'p.json', profile: routed }, { tensor: 1, expert: 4 });
    assert.equal(errorPercent - profileProvenance({ file: 'p.json', profile: routed }, { tensor: 1, expert: 1 }).errorPercent, 5);
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
