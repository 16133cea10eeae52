import assert from 'node:assert/strict';
import { allToAllSeconds } from '../../../../src/core/time-model/collectives';
import { profiledStageCost } from '../../../../src/core/time-model/profile-cost';
import { costProvenance } from '../../../../src/core/time-model/provenance';
import { rooflineProvenance } from './provenances';
import { measuredKinds, unseenKinds } from '../../../../src/core/time-model/measured-kinds';
import { launchers } from '../../../../src/core/launchers/registry';
import type { LauncherFormat } from '../../../../src/core/run/config-format';
import { llama3, mixtral, request } from '../../../golden/requests';
import { profileWith } from '../measured-profile/profiles';
import { toText } from '../../sentence-text';

describe('error bar of an analytic cost', () => {
  const errorPercent = (model: ReturnType<typeof mixtral>, layout: object) =>
    rooflineProvenance(request('B200', model, { training: { attention: 'flash', precision: 'bf16' }, layout }), 4, 8192).errorPercent;

  it('is that of the measured runs nearest in kind, wider for experts than without', () => {
    const dense = rooflineProvenance(
      request('B200', llama3('70b', 4), { training: { attention: 'flash', precision: 'bf16' }, layout: {} }),
      4,
      8192,
    );
    const kind = measuredKinds.find(
      ({ runtime, generation, experts, narrow }) => runtime === 'megatron' && generation === 'B200' && !experts && !narrow,
    )!;
    assert.deepEqual(dense.range, [kind.low, kind.high]);
    assert.match(
      toText(dense.errorBecause),
      new RegExp(`by ${kind.rows} measured runs from ${kind.sources} sources: .* on B200 under Megatron-LM`),
    );
    assert.ok(errorPercent(mixtral(4), { data: 8, expert: 8 }) > dense.errorPercent);
  });

  it('is that of all runs with experts, or without, at least 20 %, where nobody measured the like', () => {
    const unseen = rooflineProvenance(request('A100-80GB', mixtral(4), { training: { attention: 'flash' }, layout: {} }), 4, 8192);
    assert.deepEqual(unseen.range, [unseenKinds.experts.low, unseenKinds.experts.high]);
    assert.match(toText(unseen.errorBecause), /models with experts; none on A100-80GB under .*, with GEMMs in 16 bits or more, is known/);
    for (const { low, high } of Object.values(unseenKinds)) assert.ok(low <= Math.exp(-0.2) && high >= Math.exp(0.2));
  });

  it('is as wide where one source is known as where none is', () => {
    const single = measuredKinds.filter(({ sources }) => sources < 2);
    assert.ok(single.length > 3);
    for (const { low, high } of single) assert.ok(low <= Math.exp(-0.2) && high >= Math.exp(0.2));
  });

  it('widens by the share of attention whose kernel was not measured on the GPU', () => {
    const of = (attentionKernel: 'flash1' | 'cudnn', tokens: number) => {
      const training = { attention: 'flash', attentionKernel, precision: 'bf16' } as const;
      return rooflineProvenance(request('B200', llama3('70b', 4), { training, layout: {} }), 1, tokens);
    };
    assert.doesNotMatch(toText(of('cudnn', 65_536).errorBecause), /not measured on B200/);
    assert.match(toText(of('flash1', 65_536).errorBecause), /^FlashAttention 1 was not measured on B200: \d+ % of a layer's time; /);
    assert.ok(of('flash1', 262_144).range[1] > of('flash1', 8192).range[1]);
    for (const { low, high } of [...measuredKinds, ...Object.values(unseenKinds)])
      assert.ok(low < 0.95 && high > 1.05, 'a share below the least widens no range');
  });

  it('widens by 0.4 of that share where benchmarks of kernels give a rate: FlashAttention 2 on Blackwell, 3 on Hopper, cuDNN on A100', () => {
    const cases = [
      ['flash2', 'B200', 'FlashAttention 2'],
      ['flash2', 'GB300', 'FlashAttention 2'],
      ['flash3', 'H100-80GB', 'FlashAttention 3'],
      ['cudnn', 'A100-80GB', 'cuDNN'],
    ] as const;
    for (const [attentionKernel, gpu, name] of cases) {
      const training = { attention: 'flash', attentionKernel, precision: 'bf16' } as const;
      const inputs = request(gpu, llama3('70b', 4), { training, layout: {} });
      const { range, errorBecause } = rooflineProvenance(inputs, 1, 1_048_576);
      assert.ok(range[1] > 1.36 && range[1] <= 1.4, `${gpu} ${range[1]}`);
      assert.ok(
        toText(errorBecause).startsWith(`the rate of ${name} on ${inputs.cluster.gpu.name} is from kernel benchmarks, not from runs: 9`),
      );
    }
  });

  it('does not widen by attention where no kernel was measured on the GPU, unless the run names one', () => {
    const of = (more: object) => {
      const training = { attention: 'flash', ...more } as const;
      return toText(rooflineProvenance(request('V100-16GB', llama3('70b', 4), { training, layout: {} }), 1, 65_536).errorBecause);
    };
    assert.doesNotMatch(of({}), /^FlashAttention|not measured on V100/);
    assert.match(of({ attentionKernel: 'flash1' }), /^FlashAttention 1 was not measured on V100/);
  });

  it('is 35 % for a program with training code of its own, of which no run is among those that ranges are made from', () => {
    const run = request('A100-80GB', llama3('70b', 4), { training: { attention: 'flash', precision: 'bf16' }, layout: {} });
    const of = (format: LauncherFormat) => {
      const { capabilities, traits } = launchers[format];
      const inputs = { ...run, training: { ...run.training, runtime: traits.runtime } };
      return costProvenance({ training: inputs.training, costTable: null, profile: null, capabilities }, { inputs, nodeKinds: [inputs] });
    };
    const as = 'timed as Megatron-LM with Transformer Engine; ';
    assert.deepEqual(of('fast-llm').range, [0.65, 1.35]);
    assert.ok(toText(of('fast-llm').errorBecause).startsWith(`no run of Fast-LLM is among those that ranges are made from: ${as}`));
    assert.equal(of('nanotron').range[1], 4);
    assert.ok(of('nanotron').range[0] > 0.65);
    assert.ok(
      toText(of('nanotron').errorBecause).startsWith(
        `published runs of nanotron took 1.3 to 4 times as long as planned, for reasons that are not known; `,
      ),
    );
    const { range } = rooflineProvenance(run, run.training.microBatch, run.training.sequenceLength);
    assert.deepEqual(of('megatron-shell').range, range);
    assert.deepEqual(of('nemo').range, range);
  });

  it('is that of the same number format', () => {
    const of = (training: object) =>
      rooflineProvenance(request('H100-80GB', llama3('70b', 4), { training: { attention: 'flash', ...training }, layout: {} }), 4, 8192);
    for (const narrow of [false, true]) {
      const { range, errorBecause } = of({ precision: 'bf16', ...(narrow ? { gemmPrecision: 'fp8' } : {}) });
      const { low, high } = measuredKinds.find(
        (kind) => kind.runtime === 'megatron' && kind.generation === 'H100' && !kind.experts && kind.narrow === narrow,
      )!;
      assert.deepEqual(range, [low, high]);
      assert.match(
        toText(errorBecause),
        narrow ? /on H100 under Megatron-LM .*, with GEMMs in FP8 or NVFP4$/ : /with GEMMs in 16 bits or more$/,
      );
    }
  });

  it('reaches further towards slow runs where attention has sinks', () => {
    const of = (model: ReturnType<typeof llama3>) =>
      rooflineProvenance(request('B200', model, { training: { attention: 'flash', precision: 'bf16' }, layout: {} }), 4, 8192);
    const [plain, sinks] = [of(llama3('70b', 4)), of({ ...llama3('70b', 4), attentionSinks: true })];
    assert.equal(sinks.range[0], plain.range[0]);
    assert.equal(sinks.range[1], 1.6);
    assert.match(toText(sinks.errorBecause), /attention sinks are not measured/);
  });

  it('is wider where nodes are linked by Ethernet, where a GPU was not measured, and where nobody ran the kind', () => {
    const of = (gpu: 'V100-32GB' | 'L40S' | 'A100-80GB', layout: object) =>
      rooflineProvenance(request(gpu, llama3('70b', 4), { training: {}, layout }), 1, 2048);
    assert.match(toText(of('V100-32GB', { data: 16 }).errorBecause), /nodes are linked by only 3.1 GB\/s/);
    assert.match(toText(of('L40S', {}).errorBecause), /no GEMM efficiency was measured on L40S; .* none on L40S under Megatron-LM/);
    assert.ok(of('L40S', {}).errorPercent > of('A100-80GB', {}).errorPercent);
  });
});

describe('error bar of a profiled cost', () => {
  const profile = profileWith();
  const asked = (layout: object, training: object = {}) =>
    request('B200', mixtral(4), { training: { attention: 'flash', precision: 'bf16', sequenceLength: 512, ...training }, layout });
  const provenance = (of: typeof profile, layout: object, training: object = {}) => {
    const inputs = asked(layout, training);
    return costProvenance({ ...inputs, profile: { file: 'p.json', profile: of } }, { inputs, nodeKinds: [inputs] });
  };

  it('names the collectives inside a layer, which one GPU cannot measure', () => {
    const routed = { ...profile, shape: { ...profile.shape, experts: { count: 2, active: 2 } } };
    assert.doesNotMatch(toText(provenance(profile, { expert: 4 }).errorBecause), /parallel ranks/);
    assert.match(toText(provenance(profile, { tensor: 2, expert: 4 }).errorBecause), /between tensor-parallel ranks/);
    assert.match(toText(provenance(routed, { tensor: 2, expert: 4 }).errorBecause), /between tensor- and expert-parallel ranks/);
    assert.ok(provenance(routed, { expert: 4 }).errorPercent > provenance(routed, { expert: 1 }).errorPercent);
  });

  it('is wider, and explains why, where the plan asks for what was not measured', () => {
    const inside = provenance(profile, {});
    const long = provenance(profile, {}, { sequenceLength: 2 * profile.sequenceLength });
    const large = provenance(profile, {}, { microBatch: 4 * profile.largestBatch });
    assert.match(toText(long.errorBecause), /sequences were measured to .* only/);
    assert.match(toText(large.errorBecause), /micro-batches were measured to .* only/);
    for (const { errorPercent } of [long, large]) assert.ok(errorPercent > inside.errorPercent);
  });

  it('names ends that were not measured and a measurement that was stopped', () => {
    const { fit } = profile;
    assert.ok(fit !== null);
    const cut = { ...profile, status: 'partial' as const, error: 'cancelled', fit: { ...fit, embedding: null, head: null } };
    assert.match(toText(provenance(cut, {}).errorBecause), /the embedding, the head/);
    assert.match(toText(provenance(cut, {}).description), /stopped early/);
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
