import { fitErrors, fitPart } from '../../src/core/measured-profile/fit';
import type { Profile, Sample } from '../../src/core/domain/profile';
import { randomNumbers } from '../../src/core/numbers';
import type { KnownProfile, ProfileState } from '../../src/protocol/page';
import type { Sentence } from '../../src/core/sentence';

/** A device made up for tests: how long a slice takes, and how much that scatters. */
export interface SimulatedDevice {
  readonly name?: string;
  /** ms for a tile of 64 tokens. */
  readonly tileMs?: number;
  /** Relative scatter of a measured time, 0.005 is half a percent. */
  readonly noise?: number;
  /** Samples to keep, in the order in which they were measured. */
  readonly most?: number;
  readonly longest?: number;
}

/**
 * Slices of a layer that a profiler would measure: lengths without context, then with, then two sequences, and every fourth kept out of the
 * fit.
 */
export function simulatedSamples({ tileMs = 0.35, noise = 0.006, most = Infinity, longest = 2048 }: SimulatedDevice = {}): Sample[] {
  const random = randomNumbers(7);
  const lengths = [32, 64, 128, 192, 256, 320, 384, 512, 640, 768, 1024, 1280, 1536, 2048].filter((tokens) => tokens <= longest);
  const contexts = [256, 512, 1024, 1536].filter((context) => context < longest);
  const cells = [
    ...lengths.map((tokens) => ({ batch: 1, tokens, context: 0 })),
    ...contexts.flatMap((context) =>
      [64, 128, 256, 320, 512, 768].filter((tokens) => tokens + context <= longest).map((tokens) => ({ batch: 1, tokens, context })),
    ),
    ...[128, 384].map((tokens) => ({ batch: 2, tokens, context: 0 })),
  ];
  const time = (batch: number, tokens: number, context: number): number => {
    const tiles = Math.ceil((batch * tokens) / 64);
    const attention = batch * tokens * (context + tokens / 2) * 4.5e-6 * (tileMs / 0.35);
    return 0.18 + tileMs * tiles + attention + (context > 0 ? 0.03 + context * 2e-5 : 0);
  };
  const scattered = (ms: number): number => ms * (1 + noise * (random() + random() - 0.6));
  return cells.slice(0, most).map(({ batch, tokens, context }, index) => ({
    batch,
    tokens,
    context,
    forwardMs: scattered(time(batch, tokens, context)),
    backwardMs: scattered(2.05 * time(batch, tokens, context) + 0.2),
    rounds: 8,
    holdOut: index % 4 === 3,
  }));
}

/** A complete profile of a simulated device; `change` overrides any field. */
export function profileOf(device: SimulatedDevice = {}, change: Partial<Profile> = {}): Profile {
  const layer = change.samples?.layer ?? simulatedSamples(device);
  const fit = fitPart(layer);
  return {
    version: 1,
    kind: 'terapipe-profile',
    status: 'complete',
    error: null,
    measuredAt: '2026-11-20T14:05:00.000Z',
    source: 'onnxruntime',
    device: { kind: 'gpu', name: device.name ?? 'NVIDIA H100 80GB HBM3', memoryBytes: 80 * 2 ** 30, driver: '570.86.15' },
    provider: 'cuda',
    versions: { onnxruntime: '1.30.0', terapipe: '0.1.0', node: '20.20.0', os: 'linux 6.8' },
    title: 'gpt3-175b',
    tensor: 4,
    shape: {
      hidden: 12288,
      heads: 24,
      kvHeads: 24,
      headDim: 128,
      ffn: 12288,
      gatedMlp: false,
      norm: 'layernorm',
      rotary: false,
      qkvBias: true,
      attentionOutputBias: true,
      mlpBias: true,
      qkNorm: false,
      experts: null,
      vocab: 0,
      learnedPositions: true,
    },
    precision: 'fp16',
    tf32: null,
    launches: { perNodeUs: 4.3, perProductUs: 17, forwardMs: 0.137, backwardMs: 0.6 },
    sequenceLength: 2048,
    largestBatch: 2,
    attention: { forward: 'MultiHeadAttention', backward: 'MatMul, Softmax' },
    threads: null,
    samples: { layer, embedding: [], head: [] },
    skipped: [],
    twoLayerRatio: 2.01,
    fit: fit === null ? null : { layer: fit, embedding: null, head: null },
    errors: fit === null ? null : fitErrors(fit, layer),
    seconds: 148,
    warnings: [],
    ...change,
  };
}

/** A profile in a file of the workspace. */
export function known(profile: Profile, name = 'h100-gpt3-175b.json', refusal: Sentence | null = null): KnownProfile {
  return { file: `file:///home/ada/gpt3-175b/.terapipe/profiles/${name}`, name, profile, refusal };
}

/** Profiles as the host sends them; the first one serves the plan unless it is refused. */
export function profilesOf(profiles: readonly KnownProfile[], change: Partial<ProfileState> = {}): ProfileState {
  return { known: profiles, used: profiles.find(({ refusal }) => refusal === null)?.file ?? null, running: null, error: null, ...change };
}
