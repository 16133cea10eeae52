import assert from 'node:assert/strict';
import { fitPart } from '../../../../src/core/measured-profile/fit';
import { chooseProfile, compareProfiles, mismatchRemedy, profileMismatch } from '../../../../src/core/measured-profile/match';
import { matchGpuPreset } from '../../../../src/core/cluster/presets';
import type { Profile, Sample } from '../../../../src/core/domain/profile';
import { layerSamples, profileWith, requestWith } from './profiles';
import { toText } from '../../sentence-text';
import { say } from '../../../../src/core/sentence';

const gib = 2 ** 30;
const request = requestWith({});

describe('GPU of a driver name', () => {
  it('finds the preset of names as NVIDIA and AMD drivers give them', () => {
    const names: readonly (readonly [string, number | null, string])[] = [
      ['NVIDIA A100-SXM4-80GB', 79.2 * gib, 'A100-80GB'],
      ['NVIDIA A100-SXM4-40GB', null, 'A100-40GB'],
      ['A100-PCIE-40GB', null, 'A100-40GB'],
      ['Tesla V100-SXM2-16GB', 15.8 * gib, 'V100-16GB'],
      ['Tesla V100-SXM3-32GB', null, 'V100-32GB'],
      ['NVIDIA H100 80GB HBM3', 79.6 * gib, 'H100-80GB'],
      ['NVIDIA H200', 140 * gib, 'H200'],
      ['NVIDIA B200', null, 'B200'],
      ['NVIDIA L40S', 45 * gib, 'L40S'],
      ['NVIDIA GeForce RTX 4090', 24 * gib, 'RTX4090'],
      ['AMD Instinct MI300X', 192 * gib, 'MI300X'],
      ['AMD Instinct MI300X OAM', null, 'MI300X'],
      ['AMD Instinct MI325X', 256 * gib, 'MI325X'],
      ['AMD Instinct MI355X', null, 'MI355X'],
      ['NVIDIA A800-SXM4-80GB', 79.3 * gib, 'A800-80GB'],
      ['NVIDIA H800', 79.6 * gib, 'H800-80GB'],
      ['NVIDIA H20', 95.6 * gib, 'H20'],
      ['NVIDIA H100 96GB HBM3', null, 'H100-96GB'],
      ['NVIDIA H100 96GB', 95.6 * gib, 'H100-96GB'],
      ['NVIDIA GH200 480GB', 95.6 * gib, 'GH200'],
      ['NVIDIA GH200 120GB', null, 'GH200'],
      ['NVIDIA GB200', 185 * gib, 'GB200'],
      ['NVIDIA GB300', 277.5 * gib, 'GB300'],
      ['NVIDIA B300 SXM6 AC', 268.6 * gib, 'B300'],
      ['NVIDIA A10G', 22.5 * gib, 'A10G'],
      ['NVIDIA L4', 22.5 * gib, 'L4'],
      ['NVIDIA GeForce RTX 5090', 31.8 * gib, 'RTX5090'],
    ];
    for (const [name, memoryBytes, preset] of names) assert.equal(matchGpuPreset(name, memoryBytes), preset, name);
  });

  it('distinguishes sizes by memory where the name does not have it', () => {
    assert.equal(matchGpuPreset('NVIDIA A100', 39.4 * gib), 'A100-40GB');
    assert.equal(matchGpuPreset('NVIDIA A100', 79.2 * gib), 'A100-80GB');
    assert.equal(matchGpuPreset('NVIDIA A100', null), null);
    assert.equal(matchGpuPreset('H100', null), 'H100-80GB');
    assert.equal(matchGpuPreset('NVIDIA H100', 93.6 * gib), 'H100-96GB');
    assert.equal(matchGpuPreset('NVIDIA H100', 79.6 * gib), 'H100-80GB');
  });

  it('takes no relative for the card itself', () => {
    for (const name of [
      'NVIDIA L40',
      'NVIDIA A10',
      'NVIDIA A100-SXM4-80GB MIG 1g.10gb',
      'NVIDIA H100 PCIe',
      'NVIDIA H100 NVL',
      'NVIDIA H800 PCIe',
      'NVIDIA H20-3e',
      'NVIDIA GH200 144G HBM3e',
      'NVIDIA GB300-WS',
      'NVIDIA GeForce RTX 5090 D',
      'NVIDIA GeForce RTX 5090 Laptop GPU',
      'NVIDIA GeForce RTX 4090 Laptop GPU',
      'NVIDIA GeForce RTX 4090 D',
      'AMD Instinct MI300A',
      'llvmpipe (LLVM 15.0.6, 256 bits)',
    ])
      assert.equal(matchGpuPreset(name, 80 * gib), null, name);
  });
});

/** Why a profile cannot serve a plan, in English. */
function refusalOf(...asked: Parameters<typeof profileMismatch>): string | null {
  const reason = profileMismatch(...asked);
  return reason === null ? null : say(reason);
}

describe('profile against a plan', () => {
  it('serves the layer, GPU and precision it was measured on', () => {
    assert.equal(refusalOf(profileWith(), request), null);
  });

  it('is refused for another device, with both names', () => {
    const h100 = profileWith({ device: { kind: 'gpu', name: 'NVIDIA H100 80GB HBM3', memoryBytes: null, driver: null } });
    assert.equal(refusalOf(h100, request), 'it was measured on NVIDIA H100 80GB HBM3, not on A100-80GB');
    const onCpu = profileWith({ device: { kind: 'cpu', name: 'AMD EPYC 7763', memoryBytes: null, driver: null } });
    assert.equal(toText(refusalOf(onCpu, request)), 'it was measured on a CPU (AMD EPYC 7763), not on A100-80GB');
    assert.equal(refusalOf(onCpu, requestWith({ gpu: 'AMD EPYC 7763' })), null);
    assert.match(refusalOf(profileWith(), requestWith({ gpu: 'AMD EPYC 7763' })) ?? '', /not on AMD EPYC 7763/);
  });

  it('is refused when a CPU drew the GPU interface, even under the same name', () => {
    const software = profileWith({ device: { kind: 'software', name: 'A100-80GB', memoryBytes: null, driver: null } });
    assert.match(refusalOf(software, request) ?? '', /runs on the CPU/);
  });

  it('is refused for another layer by its first difference, in words', () => {
    assert.equal(refusalOf(profileWith(), requestWith({ model: { heads: 24 } })), 'its layer has 12 heads per rank, not 24');
    assert.equal(refusalOf(profileWith(), requestWith({ model: { norm: 'rmsnorm' } })), 'its layer has LayerNorm, not RMSNorm');
    assert.equal(
      refusalOf(profileWith(), requestWith({ model: { gatedMlp: true } })),
      'its layer has an MLP without a gate, not a gated MLP',
    );
    const mixture = requestWith({ model: { experts: { count: 8, active: 2 } }, layout: { expert: 4 } });
    assert.equal(refusalOf(profileWith(), mixture), 'its layer has no experts, not 2 experts per rank, 2 active');
    assert.equal(refusalOf(profileWith({ shape: { ...profileWith().shape, experts: { count: 2, active: 2 } } }), mixture), null);
    const [near, far] = [requestWith({ model: { ffn: 128_000 } }), profileWith({ shape: { ...profileWith().shape, ffn: 128_256 } })];
    assert.equal(refusalOf(far, near), 'its layer has feed-forward width 128,256 per rank, not 128,000');
  });

  it('does not mind the vocabulary when it has neither embedding nor head', () => {
    const other = requestWith({ model: { vocab: 32_000 } });
    assert.equal(refusalOf(profileWith(), other), 'its layer has a vocabulary of 50,304 per rank, not 32,000');
    const layerOnly = profileWith({ fit: { layer: fitPart(layerSamples)!, embedding: null, head: null } });
    assert.equal(refusalOf(layerOnly, other), null);
  });

  it('is refused for another tensor size, precision, context parallelism, attention and far longer sequences', () => {
    const refused = (changes: Parameters<typeof requestWith>[0]): string | null => refusalOf(profileWith(), requestWith(changes));
    assert.equal(refused({ layout: { tensor: 2 } }), 'it is of tensor size 1, not 2');
    assert.equal(refused({ training: { precision: 'fp32' } }), 'it was measured in fp16, not fp32');
    assert.match(refused({ layout: { context: 2 } }) ?? '', /context parallelism of 2/);
    assert.equal(refused({ training: { sequenceLength: 2048 } }), null);
    assert.equal(refused({ training: { sequenceLength: 2049 } }), 'it was measured up to 1,024 tokens, too far from 2,049');
    assert.equal(refused({ training: { attention: 'unfused' } }), 'its attention ran fused, and training.attention is "unfused"');
    const plain = profileWith({ attention: { forward: 'MatMul, Softmax, MatMul', backward: 'plain' } });
    assert.equal(refusalOf(plain, request), 'its attention ran unfused, and training.attention is "flash"');
    assert.equal(refusalOf(plain, requestWith({ training: { attention: 'unfused' } })), null);
  });

  it('serves a plan in bf16 from fp16 where the GPU multiplies both at one rate, and not from fp32, with what to do instead', () => {
    const bf16 = requestWith({ training: { precision: 'bf16' } });
    assert.equal(refusalOf(profileWith(), bf16), null);
    const { gpu } = bf16.cluster;
    const volta = { ...bf16, cluster: { ...bf16.cluster, gpu: { ...gpu, peakTflops: { ...gpu.peakTflops, bf16: 15.7 } } } };
    assert.equal(refusalOf(profileWith(), volta), 'it was measured in fp16, not bf16');
    const wide = profileWith({ precision: 'fp32' });
    assert.equal(refusalOf(wide, bf16), 'it was measured in fp32, not bf16');
    assert.equal(say(mismatchRemedy(wide, bf16)), 'profile in bf16 where a GPU has it, or plan with training.precision=fp32');
    assert.match(say(mismatchRemedy(wide, { ...bf16, layout: { ...bf16.layout, tensor: 2 } })), /name another profile/);
    assert.equal(refusalOf(profileWith({ precision: 'bf16' }), request), 'it was measured in bf16, not fp16');
  });

  it('serves when partial, not without a fit', () => {
    assert.equal(refusalOf(profileWith({ status: 'partial', error: 'cancelled' }), request), null);
    const empty = profileWith({ status: 'partial', error: 'cancelled', fit: null, samples: { layer: [], embedding: [], head: [] } });
    assert.equal(refusalOf(empty, request), 'it has too few samples to fit (0); measuring stopped: cancelled');
  });
});

describe('choice among profiles', () => {
  const at = (measuredAt: string, changes: Partial<Profile> = {}): Profile => profileWith({ measuredAt, ...changes });
  const named = [
    { file: 'old.json', profile: at('2026-01-01T00:00:00Z') },
    { file: 'b.json', profile: at('2026-06-01T00:00:00Z') },
    { file: 'a.json', profile: at('2026-06-01T00:00:00Z') },
    { file: 'partial.json', profile: at('2026-09-01T00:00:00Z', { status: 'partial', error: 'cancelled' }) },
    { file: 'fp32.json', profile: at('2026-10-01T00:00:00Z', { precision: 'fp32' }) },
  ];

  it('takes the newest complete one that matches, then the first by name, in whatever order they come', () => {
    for (const order of [named, named.toReversed()]) assert.equal(chooseProfile(request, order).chosen?.file, 'a.json');
  });

  it("takes one in the plan's precision before a newer one in fp16", () => {
    const bf16 = requestWith({ training: { precision: 'bf16' } });
    const own = { file: 'bf16.json', profile: at('2025-01-01T00:00:00Z', { precision: 'bf16' }) };
    assert.equal(chooseProfile(bf16, [...named, own]).chosen?.file, 'bf16.json');
    assert.equal(chooseProfile(bf16, named).chosen?.file, 'a.json');
  });

  it('explains why it refused the others', () => {
    assert.deepEqual(
      chooseProfile(request, named).refused.map(({ file, reason }) => `${file}: ${say(reason)}`),
      ['fp32.json: it was measured in fp32, not fp16'],
    );
  });

  it('takes a partial one where there is no other, and none of none', () => {
    assert.equal(chooseProfile(request, named.slice(3)).chosen?.file, 'partial.json');
    assert.deepEqual(chooseProfile(request, []), { chosen: null, refused: [] });
  });
});

describe('profile comparison', () => {
  const slower = (by: (sample: Sample) => number): Profile => {
    const layer = layerSamples.map((sample) => ({
      ...sample,
      forwardMs: sample.forwardMs * by(sample),
      backwardMs: sample.backwardMs * by(sample),
    }));
    return profileWith({ fit: { layer: fitPart(layer)!, embedding: null, head: null } });
  };

  it('finds a device that takes three times as long', () => {
    const result = compareProfiles(
      profileWith(),
      slower(() => 3),
    );
    assert.ok('ratio' in result);
    assert.ok(Math.abs(result.ratio - 3) < 1e-6);
    assert.ok(result.byTokens.length >= 10);
  });

  it('shows at which lengths one is slower', () => {
    const result = compareProfiles(
      profileWith(),
      slower(({ tokens, context }) => (tokens > 512 && context === 0 ? 2 : 1)),
    );
    assert.ok('ratio' in result);
    const ratioAt = (length: number): number => result.byTokens.find(({ tokens }) => tokens === length)?.ratio ?? NaN;
    assert.ok(ratioAt(64) < 1.1 && ratioAt(1024) > 1.9, JSON.stringify(result.byTokens));
  });

  it('is refused for another layer and without a fit', () => {
    const other = profileWith({ shape: { ...profileWith().shape, hidden: 1024 } });
    const reason = (found: ReturnType<typeof compareProfiles>): string => toText('reason' in found ? found.reason : null);
    assert.equal(reason(compareProfiles(profileWith(), other)), 'its layer has hidden width 768, not 1,024');
    assert.equal(reason(compareProfiles(profileWith(), profileWith({ fit: null }))), 'one has too few samples to fit');
  });
});
