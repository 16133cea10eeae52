import assert from 'node:assert/strict';
import { layerTime } from '../../../../src/core/time-model/layer-time';
import { rooflineProvenance } from './provenances';
import { deviceRates } from '../../../../src/core/time-model/rates';
import { addState } from '../../../../src/core/time-model/ssm-time';
import { emptyTally } from '../../../../src/core/time-model/tally';
import { layerSizes, layerWorkingSets } from '../../../../src/core/memory-model/layer-tensors';
import { savedBytes } from '../../../../src/core/memory-model/activation-memory';
import { modelFlopsPerSequence } from '../../../../src/core/model/parameters';
import { stateWidths } from '../../../../src/core/model/mixers';
import { unlikeOneLayer } from '../../../../src/core/measured-profile/shape';
import { makePlan } from '../../../../src/core/planner/make-plan';
import { readHuggingFace } from '../../../../src/core/huggingface/reader';
import { toModelSpec } from '../../../../src/core/run/written-model';
import { hybrid, stateOfKind } from '../../../golden/hybrids';
import { request } from '../../../golden/requests';
import { say } from '../../../../src/core/sentence';
import { stateKinds } from '../../../../src/core/domain/model';
import { toText } from '../../sentence-text';

const training = {
  sequenceLength: 4096,
  globalBatch: 16,
  attention: 'flash',
  fusedCrossEntropy: true,
  dropout: false,
  precision: 'bf16',
} as const;
const state = { feedForward: 'none', window: null, mixer: 'state' } as const;
const unit = { microBatch: 0, slice: 0, batch: 1, tokens: 4096, context: 0 };

describe('layers with a state', () => {
  it('count the FLOPs of a step as Megatron-LM does', () => {
    const { model, traits } = readHuggingFace(
      'config.json',
      JSON.stringify({ model_type: 'nemotron_h', hybrid_override_pattern: 'M-M*-M-' }),
    );
    const [s, h, q, kv, ffn, vocab, inner, n, groups, heads] = [8192, 4096, 4096, 1024, 21504, 131072, 8192, 128, 8, 128];
    // `hybrid_flops` of its `num_floating_point_operations`: forward of each kind of layer, three times.
    const mamba = 2 * s * h * (2 * inner + 2 * groups * n + heads) + 7 * s * inner * n + 2 * s * inner * h;
    const attention = 4 * s * (h * q + h * kv + (q * s) / 2);
    const network = 4 * s * h * ffn;
    const expected = 3 * (3 * mamba + attention + 3 * network + 2 * s * h * vocab);
    assert.ok(Math.abs(modelFlopsPerSequence(toModelSpec(model, traits), s) / expected - 1) < 1e-12);
  });

  it('take products and traffic in proportion to tokens once they are long, and whole chunks before', () => {
    for (const kind of stateKinds) {
      const inputs = request('H100-80GB', hybrid('MM', kind), { training, layout: {} });
      const time = layerTime({ ...inputs, constants: { ...inputs.constants, issueFloorUs: 0 } }, state);
      const ratio = time(1, 8192, 0).forward / time(1, 4096, 0).forward;
      assert.ok(ratio > 1.85 && ratio <= 2.0001, `${kind} ${ratio}`);
      assert.deepEqual(time(2, 512, 0), time(2, 512, 4096));
    }
  });

  it('move more in backward than in forward, and that of Mamba-2 about three times as much', () => {
    const inputs = request('H100-80GB', hybrid('M'), { training, layout: {} });
    const bare = { ...inputs, constants: { ...inputs.constants, issueFloorUs: 0 } };
    const rates = { ...deviceRates(bare), linear: () => 0, weightGradient: () => 0, gemm: () => 0, fused: () => 0, cast: () => 0 };
    const sum = emptyTally();
    addState(sum, bare, rates, stateOfKind('mamba2'), 4096, 4096);
    assert.ok(sum.backward / sum.forward > 2.5 && sum.backward / sum.forward < 3.5, `${sum.backward / sum.forward}`);
  });

  it('exchange heads for tokens under context parallelism, whatever attention does', () => {
    const at = (context: number) => layerTime(request('H100-80GB', hybrid('M'), { training, layout: { context } }), state)(1, 65536, 0);
    assert.ok(at(2).forward < at(1).forward && at(2).forward > at(1).forward / 2);
  });

  it('keep what the fused kernel of Mamba-2 keeps: its input and its ungated output, with what norm and output projection read', () => {
    const model = hybrid('M');
    const inputs = request('H100-80GB', model, { training, layout: {} });
    const { projected, value } = stateWidths(model.state!, 1);
    const perToken = 2 * (2 * model.hidden + projected + 3 * value);
    const groups = [{ kind: state, layers: 1 }];
    const shape = { layers: 1, first: false, last: false, groups };
    assert.equal(savedBytes(inputs, shape, unit, false).activations, 4096 * perToken);
    const full = request('H100-80GB', model, { training: { ...training, recompute: 'full' }, layout: {} });
    assert.equal(savedBytes(full, shape, unit, false).activations, 4096 * 2 * model.hidden);
    const { backward } = layerWorkingSets(inputs, { kind: state, sizes: layerSizes(inputs, unit, state), recreated: 0 });
    assert.deepEqual(backward.map(({ name }) => name), ['state backward']); // prettier-ignore
    assert.equal(layerSizes(inputs, unit, state).state?.projected, 2 * 4096 * projected);
  });

  it('keep the state of every slice for its backward, and keys and values where they attend', () => {
    const model = hybrid('M*');
    const inputs = request('H100-80GB', model, { training, layout: {} });
    const slice = { ...unit, tokens: 128, context: 128, slice: 1 };
    const of = (kind: typeof state | { feedForward: 'none'; window: null }) =>
      savedBytes(inputs, { layers: 1, first: false, last: false, groups: [{ kind, layers: 1 }] }, slice, true).keysValues;
    const { value, convolved } = stateWidths(model.state!, 1);
    assert.equal(of(state), 4 * value * 128 + 2 * 3 * convolved);
    assert.equal(of({ feedForward: 'none', window: null }), 2 * 2 * model.kvHeads * model.headDim * 128);
  });

  it('are planned in token slices, with a wide error bar and the reason', () => {
    const asked = request('H100-80GB', hybrid('M-M-M*-EM-M-M*-E'), {
      training: { ...training, sequenceLength: 16384, globalBatch: 2 },
      layout: { pipeline: 4 },
    });
    const answer = makePlan({ ...asked, schedule: 'TeraPipe' });
    const chosen = answer.candidates.find(({ id }) => id === answer.chosen)!;
    assert.ok(Number.isFinite(chosen.iterationMs) && chosen.mfu > 0 && chosen.mfu < 1);
    assert.ok(chosen.scheme.some(({ tokens }) => tokens.length > 1));
    const { errorPercent, errorBecause } = rooflineProvenance(asked, 1, 4096);
    assert.ok(errorPercent >= 35);
    assert.match(toText(errorBecause), /SSM and linear-attention times/);
  });

  it('have no profile of one layer', () => {
    assert.match(say(unlikeOneLayer(hybrid('MM'))!), /SSM or linear-attention layers/);
  });
});
