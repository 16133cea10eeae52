import assert from 'node:assert/strict';
import fc from 'fast-check';
import { readDeepSpeed } from '../../../../../src/core/launchers/deepspeed/reader';
import type { Facts, LauncherReader } from '../../../../../src/core/run/facts';
import { readTorchTitan } from '../../../../../src/core/launchers/torchtitan/reader';
import { yamlReaders } from '../../launchers/tables/yaml-readers';
import type { LaunchSettings } from '../../../../../src/core/launchers/writing/launch-settings';
import { completeInline } from '../../../../../src/core/terapipe/inline-model';
import { runOfLauncher } from '../../../../../src/core/launchers/launcher-run';
import { newLauncher } from '../../../../../src/core/export/launchers/new-launcher';
import { launchFindings } from '../../../../../src/core/rules/launch-findings';
import { recogniseConfig } from '../../../../../src/core/config-files/readers';
import { shellReader } from '../../launchers/shell/shell-reader';
import { remarkLine, remarkSeverity } from '../../../../../src/core/launchers/writing/remarks';
import { writerOf, type WrittenFormat } from './editors';
import { anyPlan, planWith } from './plans';
import { megatronLayout, titanLayout, deepspeedLayout, type ReadLayout } from './read-layout';
import { detailNames } from '../../../../../src/core/domain/settings/model-details';
import { say } from '../../../../../src/core/sentence';
import { toText } from '../../../sentence-text';

const place = { file: 'config.json', range: { start: 0, end: 1 } };
const joinedLlama = {
  model: completeInline(
    Object.fromEntries(
      Object.entries({ layers: 24, hidden: 2048, heads: 16 }).map(([key, value]) => [key, { value, source: { kind: 'file', place, key } }]),
    ),
    place,
  ),
  texts: new Map([['config.json', '{}']]),
};

describe('a new launcher file', () => {
  let readers: Readonly<Record<WrittenFormat, LauncherReader>>;

  before(async () => {
    readers = {
      'megatron-shell': await shellReader(),
      'megatron-bridge': yamlReaders['megatron-bridge'],
      torchtitan: readTorchTitan,
      deepspeed: readDeepSpeed,
    };
  });

  const layouts: Readonly<Record<WrittenFormat, (facts: Facts, plan: LaunchSettings, text: string) => ReadLayout>> = {
    'megatron-shell': (facts, plan) => megatronLayout(facts, plan),
    'megatron-bridge': (facts, plan) => megatronLayout(facts, plan),
    torchtitan: titanLayout,
    deepspeed: deepspeedLayout,
  };

  for (const format of Object.keys(layouts) as WrittenFormat[])
    it(`of ${format} read back gives any plan's layout, except for what it reports it cannot`, () => {
      fc.assert(
        fc.property(anyPlan, (plan) => {
          const { text, fileName, gaps } = newLauncher(plan, writerOf(format));
          assert.equal(recogniseConfig(fileName, text), format);
          const { facts, remarks } = readers[format](fileName, text);
          assert.deepEqual(remarks.filter(({ severity }) => severity === 'error').map(({ message }) => say(message)), []); // prettier-ignore
          layouts[format](facts, plan, text).assertSame(gaps.map(({ what }) => toText(what)));
        }),
        { seed: 6, numRuns: format === 'megatron-shell' ? 120 : 300 },
      );
    });

  it('of Megatron has nothing that its own rules find wrong', () => {
    const plan = planWith({ tensor: 4, pipeline: 4, data: 4, sequenceParallel: true, virtualStages: 3, microBatch: 2, globalBatch: 128, recompute: { granularity: 'full' } }); // prettier-ignore
    const { text, fileName, gaps } = newLauncher(plan, writerOf('megatron-shell'));
    assert.deepEqual(launchFindings(readers['megatron-shell'](fileName, text)).filter(({ severity }) => severity === 'error'), []); // prettier-ignore
    assert.deepEqual(gaps, []);
    assert.match(text, /--num-layers-per-virtual-pipeline-stage 2\n/);
  });

  it('sets products in a narrow format where its launcher can, and reports a gap elsewhere', () => {
    const written = (format: WrittenFormat, gemmPrecision: 'fp8' | 'nvfp4') => {
      const plan = planWith({ gemmPrecision });
      const { text, fileName, gaps } = newLauncher(plan, writerOf(format));
      const { facts } = readers[format](fileName, text);
      const isGap = gaps.some(({ what }) => toText(what) === `GEMMs in ${gemmPrecision}`);
      return [runOfLauncher(readers[format](fileName, text), 'run', joinedLlama).training.precision?.value, facts.precision?.value, isGap];
    };
    assert.deepEqual(written('megatron-shell', 'fp8'), ['bf16', 'fp8', false]);
    assert.deepEqual(written('megatron-shell', 'nvfp4'), ['bf16', 'nvfp4', false]);
    assert.deepEqual(written('megatron-bridge', 'fp8'), ['bf16', 'fp8', false]);
    assert.deepEqual(written('megatron-bridge', 'nvfp4'), ['bf16', 'nvfp4', false]);
    assert.deepEqual(written('torchtitan', 'fp8'), ['bf16', 'bf16', true]);
    assert.deepEqual(written('deepspeed', 'fp8'), ['bf16', 'bf16', true]);
  });

  it('of TorchTitan names the version that it is for', () => {
    const { text } = newLauncher(planWith({}), writerOf('torchtitan'));
    assert.match(text, /^# For TorchTitan 0\.2\.2, the last version that reads TOML\.$/m);
    assert.match(text, /^# What no plan knows, with TorchTitan's defaults: .*training\.dataset \(c4_test\), training\.steps \(10000\)/m);
  });

  it('of DeepSpeed keeps the optimizer on the host, and how much is copied at a time', () => {
    const plan = planWith({ zeroStage: 3, offloadOptimizer: true, offloadBuffers: 6, optimizerSubGroup: 50_000_000 });
    const { text, gaps } = newLauncher(plan, writerOf('deepspeed'));
    const { zero_optimization: zero } = JSON.parse(text) as { readonly zero_optimization: object };
    assert.deepEqual(zero, { stage: 3, offload_optimizer: { device: 'cpu', buffer_count: 6 }, sub_group_size: 50_000_000 });
    assert.ok(!gaps.some(({ what }) => /host|time/.test(toText(what))));
    // no plan has the path of an NVMe
    const { gaps: ofDisk } = newLauncher({ ...plan, offloadDevice: 'nvme' }, writerOf('deepspeed'));
    assert.ok(ofDisk.some(({ what }) => toText(what) === 'optimizer on the host'));
  });

  it('sets how FP8 is scaled', () => {
    const recipes = ['delayed', 'tensorwise', 'mxfp8', 'blockwise', 'rowwise', undefined] as const;
    const written = (format: WrittenFormat) =>
      recipes.map((fp8Recipe) => {
        const plan = planWith({ gemmPrecision: 'fp8', ...(fp8Recipe && { fp8Recipe }) });
        const { text, fileName } = newLauncher(plan, writerOf(format));
        return readers[format](fileName, text).facts.fp8Recipe?.value;
      });
    assert.deepEqual(written('megatron-shell'), ['delayed', 'tensorwise', 'mxfp8', 'blockwise', undefined, undefined]);
    assert.deepEqual(written('megatron-bridge'), ['delayed', 'tensorwise', 'mxfp8', 'blockwise', 'tensorwise', 'tensorwise']);
  });

  it('sets which values FP8 has, and reports where a recipe has others', () => {
    const written = (format: WrittenFormat, change: Partial<LaunchSettings>) =>
      newLauncher(planWith({ gemmPrecision: 'fp8', ...change }), writerOf(format));
    const read = (change: Partial<LaunchSettings>) => {
      const { text, fileName } = written('megatron-shell', change);
      return readers['megatron-shell'](fileName, text).facts.fp8Format?.value;
    };
    assert.deepEqual(
      [
        { fp8Format: 'e4m3' } as const,
        { fp8Format: 'hybrid', fp8Recipe: 'blockwise' } as const,
        { fp8Recipe: 'blockwise' } as const,
        {},
      ].map(read),
      ['e4m3', 'hybrid', 'e4m3', 'hybrid'],
    );
    const reasons = (change: Partial<LaunchSettings>) =>
      written('megatron-bridge', change).gaps.flatMap(({ reason }) => (toText(reason).includes('FP8') ? [toText(reason)] : []));
    assert.deepEqual(reasons({ fp8Recipe: 'blockwise', fp8Format: 'e4m3' }), [
      'bf16_with_fp8_subchannel_scaling_mixed has FP8 in hybrid: set its fp8 to e4m3 in Python',
    ]);
    assert.deepEqual(reasons({ fp8Recipe: 'mxfp8', fp8Format: 'e4m3' }), []);
  });

  it('sets dropout, the loss and gradients, whose defaults in launchers are others, and collectives with GEMMs', () => {
    const written = (format: WrittenFormat, change: Partial<LaunchSettings>) => {
      const { text, fileName } = newLauncher(planWith({ tensor: 4, ...change }), writerOf(format));
      const { training } = runOfLauncher(readers[format](fileName, text), 'run', joinedLlama);
      const { dropout, asyncTensorParallel, fusedCrossEntropy, gradAccumulationFp32 } = training;
      return [dropout?.value, asyncTensorParallel?.value, fusedCrossEntropy?.value, gradAccumulationFp32?.value];
    };
    const slow = { dropout: true, asyncTensorParallel: true, fusedCrossEntropy: false, gradAccumulationFp32: false };
    assert.deepEqual(written('megatron-shell', {}), [false, undefined, true, undefined]);
    assert.deepEqual(written('megatron-shell', slow), [true, true, undefined, false]);
    assert.deepEqual(written('megatron-shell', { precision: 'fp16' }), [false, undefined, true, true]);
    assert.deepEqual(written('megatron-shell', { precision: 'fp16', gradAccumulationFp32: false }), [false, undefined, true, undefined]);
    assert.deepEqual(written('megatron-bridge', {}), [false, undefined, true, undefined]);
    assert.deepEqual(written('megatron-bridge', slow), [true, undefined, false, undefined]);
    // asynchronous tensor parallelism needs the model compiled, with which the loss is
    assert.deepEqual(written('torchtitan', slow), [undefined, true, true, undefined]);
  });

  it('of Megatron sets the model of DeepSeek-V3, latent attention and dense layers included', () => {
    const model: LaunchSettings['model'] = {
      ...planWith().model,
      layers: 14,
      details: {
        activation: 'silu',
        initStd: 0.006,
        rotaryInterleaved: true,
        routerScore: 'sigmoid',
        routerNormalised: true,
        routerScaling: 2.5,
        routerExpertBias: true,
        routerAuxLoss: 0.0001,
        routerSequenceLoss: true,
      },
      hidden: 7168,
      heads: 128,
      kvHeads: 128,
      headDim: 128,
      ffn: 2048,
      denseFfn: 18432,
      positions: 'rotary',
      experts: { count: 64, active: 8, sharedFfn: 2048 },
      latent: { qRank: 1536, kvRank: 512, nopeHeadDim: 128, ropeHeadDim: 64, vHeadDim: 128 },
      layerKinds: Array.from({ length: 14 }, (_, layer) => ({ feedForward: layer < 3 ? 'dense' : 'experts', window: null })),
    };
    const plan = planWith({ model, tensor: 2, expert: 8, expertTensor: 1, data: 8, stageLayers: [14], sequenceParallel: true });
    const { text, fileName, gaps } = newLauncher(plan, writerOf('megatron-shell'));
    assert.deepEqual(gaps, []);
    const { facts } = readers['megatron-shell'](fileName, text);
    const names = ['layers', 'hidden', 'heads', 'ffn', 'experts', 'activeExperts', 'expertFfn', 'sharedExpertFfn', 'moeLayerFrequency', 'latentAttention', 'qLoraRank', 'kvLoraRank', 'qkNopeHeadDim', 'qkRopeHeadDim', 'vHeadDim', 'expert', 'expertTensor'] as const; // prettier-ignore
    assert.deepEqual(
      names.map((name) => facts[name]?.value),
      [14, 7168, 128, 18432, 64, 8, 2048, 2048, '([0]*3+[1]*11)', true, 1536, 512, 128, 64, 128, 8, 1],
    );
    const read = detailNames.flatMap((name) => (facts[name] === undefined ? [] : [[name, facts[name].value] as const]));
    // which latent attention has without a flag
    assert.deepEqual(Object.fromEntries([...read, ['rotaryInterleaved', true]]), model.details);
    const alibi = newLauncher(planWith({ model: { ...model, details: { ...model.details, alibi: true } } }), writerOf('megatron-shell'));
    assert.deepEqual(alibi.gaps.map(({ reason }) => toText(reason)), ['Megatron-LM cannot express ALiBi: this file trains another model']); // prettier-ignore
    assert.match(alibi.text, /^# Error: Megatron-LM cannot express ALiBi: this file trains another model\.$/m);
  });

  it('has the rotary base, its scaling and the epsilon of the norms, or reports that it trains another model', () => {
    const llama3 = { kind: 'llama3', factor: 8, lowFrequencyFactor: 1, highFrequencyFactor: 4, originalPositions: 8192 };
    const bare = Object.fromEntries(
      Object.entries(planWith().model).filter(([name]) => name !== 'rotary' && name !== 'normEpsilon'),
    ) as unknown as LaunchSettings['model'];
    const made = (model: LaunchSettings['model'], format: WrittenFormat = 'megatron-shell') =>
      newLauncher(planWith({ model }), writerOf(format));
    const whole = made({ ...bare, rotary: { base: 500_000, share: 0.5, scaling: llama3 }, normEpsilon: 1e-6 });
    assert.match(whole.text, /--rotary-base 500000\n {2}--rotary-percent 0.5\n {2}--use-rope-scaling\n {2}--rope-scaling-factor 8\n/);
    assert.match(whole.text, /--norm-epsilon 0.000001\n/);
    assert.deepEqual(whole.gaps, []);
    const { facts } = readers['megatron-shell'](whole.fileName, whole.text);
    assert.deepEqual([facts.rotaryBase?.value, facts.rotaryShare?.value, facts.normEpsilon?.value], [500_000, 0.5, 1e-6]);
    assert.deepEqual(facts.ropeScaling?.value, llama3);
    const linear = made({ ...bare, rotary: { base: 10_000, scaling: { kind: 'linear', factor: 4 } }, normEpsilon: 1e-5 });
    assert.match(linear.text, /--rotary-seq-len-interpolation-factor 4\n/);
    const reasons = (model: LaunchSettings['model']) => made(model).gaps.map(({ reason }) => toText(reason));
    assert.deepEqual(reasons(bare), [
      'the config leaves open what Megatron-LM has a default for: rotary base (it takes 10,000), epsilon of the norms (it takes 0.00001)',
    ]);
    assert.deepEqual(reasons({ ...bare, rotary: { base: 1e6, scaling: { kind: 'dynamic', factor: 4 } }, normEpsilon: 1e-6 }), [
      'Megatron-LM cannot express its RoPE scaling (dynamic, factor 4): this file trains another model',
    ]);
    assert.deepEqual(reasons({ ...bare, modelType: 'custom' }), []);
    const bridge = made({ ...bare, rotary: { base: 500_000 }, normEpsilon: 1e-6 }, 'megatron-bridge');
    assert.match(bridge.text, / {2}rotary_base: 500000\n/);
    assert.match(bridge.text, / {2}layernorm_epsilon: 0.000001\n/);
    const [gap] = made(planWith().model, 'torchtitan').modelGaps;
    assert.match(toText(gap!.reason), /^TorchTitan has no flavor of this model: register one .*details.initStd 0.02.*rotary.base 500000/);
  });

  it('of Megatron sets how layers are launched, and how tokens get to their experts', () => {
    const groups = { count: 8, active: 4 };
    const model: LaunchSettings['model'] = { ...planWith().model, experts: { count: 64, active: 8, groups } };
    const factsOf = (issued: Partial<LaunchSettings>) => {
      const { text, fileName } = newLauncher(
        planWith({ model, expert: 8, expertTensor: 1, data: 8, ...issued }),
        writerOf('megatron-shell'),
      );
      const read = readers['megatron-shell'](fileName, text);
      assert.deepEqual(launchFindings(read).filter(({ severity }) => severity === 'error'), []); // prettier-ignore
      const { facts } = read;
      return (['cudaGraphs', 'expertDispatcher', 'overlapExpertComm', 'fp8ParamGather', 'routerGroups', 'routerGroupTopk'] as const).map(
        (name) => facts[name]?.value,
      );
    };
    assert.deepEqual(factsOf({}), [undefined, 'alltoall', undefined, undefined, 8, 4]);
    assert.deepEqual(factsOf({ cudaGraphs: 'layers', expertDispatcher: 'hybridep' }), ['layers', 'hybridep', undefined, undefined, 8, 4]);
    const all = { cudaGraphs: 'iteration', expertDispatcher: 'deepep', overlapExpertComm: true, fp8ParamGather: true } as const;
    assert.deepEqual(factsOf(all), ['iteration', 'deepep', true, true, 8, 4]);
  });

  it('keeps a hostile title on its line', () => {
    const title = 'a\nrm -rf /\r\n"]\u2028[model]\n: {';
    for (const format of Object.keys(layouts) as WrittenFormat[]) {
      const { text, fileName } = newLauncher(planWith({ title }), writerOf(format));
      assert.ok(!/^(rm|\[model\]|"\])/m.test(text) || format === 'deepspeed', text);
      assert.ok(readers[format](fileName, text));
    }
  });

  it('names what a launcher has no setting for', () => {
    const plan = planWith({ pipeline: 8, data: 1, schedule: 'TeraPipe', slices: 16, zeroStage: 2 });
    const whats = (format: WrittenFormat) => newLauncher(plan, writerOf(format)).gaps.map(({ what }) => toText(what));
    assert.deepEqual(whats('megatron-shell'), ['ZeRO 2', 'token slices (TeraPipe)']);
    assert.deepEqual(whats('torchtitan'), ['its model', 'the prediction for Megatron-LM', 'token slices (TeraPipe)']);
    assert.ok(whats('deepspeed').includes('ZeRO 2 with a pipeline'));
  });

  it('warns where step and memory were predicted for another runtime', () => {
    const lines = (runtime: 'megatron' | 'nanotron' | 'deepspeed', format: WrittenFormat) =>
      newLauncher(planWith({ runtime }), writerOf(format)).gaps.flatMap((gap) => {
        const line = toText(remarkLine(gap));
        return line.startsWith('predicted for ') ? [`${remarkSeverity(gap)}: ${line}`] : [];
      });
    const advice = 'plan it to see its own step and memory';
    assert.deepEqual(lines('nanotron', 'megatron-shell'), [`warning: predicted for nanotron, but Megatron-LM runs this file: ${advice}`]);
    assert.deepEqual(lines('nanotron', 'deepspeed'), [`warning: predicted for nanotron, but DeepSpeed runs this file: ${advice}`]);
    assert.deepEqual(lines('megatron', 'megatron-shell'), []);
    assert.deepEqual(lines('megatron', 'megatron-bridge'), []);
    assert.deepEqual(lines('deepspeed', 'deepspeed'), []);
  });
});
