import { byDefault, type Located } from '../domain/located';
import type { Stacks } from '../domain/model';
import { integer } from '../domain/settings/rules';
import type { ModelTraits } from '../run/written-model';
import { memberNamed, readMember, type Source } from './members';
import { sentence } from '../sentence';

const keys = {
  decoderLayers: ['num_decoder_layers', 'decoder_layers'],
  decoderHeads: ['decoder_attention_heads'],
  decoderFfn: ['decoder_ffn_dim'],
  maxSource: ['max_source_positions'],
  buckets: ['relative_attention_num_buckets'],
  melBins: ['num_mel_bins'],
} as const;

/** Keys that say how decoder and encoder differ. */
export const stackKeys: readonly string[] = Object.values(keys).flat();

/** `T5Config`'s, and that of the classes after it. */
const usualBuckets = 32;

function read(source: Source, name: keyof typeof keys): Located<number> | undefined {
  const member = memberNamed(source.members, keys[name]);
  return member?.value.type === 'null' ? undefined : readMember(source, member, integer(1, 1_000_000));
}

/**
 * Layers of encoder and decoder: T5 has as many in the decoder unless set otherwise, others name both. Null for models of one stack.
 * @param written layers of the encoder, where the config gives them.
 * @throws ExpectedError as `readByRule`.
 */
export function readStackLayers(
  source: Source,
  written: Located<number> | undefined,
): { readonly encoder: Located<number>; readonly decoder: Located<number> } | null {
  const { stacks, configClass, defaults, keys: ofFamily } = source.family;
  if (stacks === undefined) return null;
  const encoder =
    written ?? byDefault(defaults.layers, sentence`${configClass} default: ${ofFamily.layers?.[0] ?? 'layers'} ${defaults.layers}`);
  const otherwise = stacks.decoderLayers;
  const decoder =
    read(source, 'decoderLayers') ??
    (otherwise === null
      ? byDefault(encoder.value, sentence`${configClass}: as many layers in the decoder as in the encoder`)
      : byDefault(otherwise, sentence`${configClass} default: decoder_layers ${otherwise}`));
  return { encoder, decoder };
}

/**
 * What an encoder-decoder model has in addition to the sizes of its encoder; null for models of one stack. Sources: configuration and
 * modelling classes of transformers 4.40 to 5.0.
 * @throws ExpectedError as `readByRule`.
 */
export function readStacks(source: Source): NonNullable<ModelTraits['stacks']> | null {
  const { stacks, defaults } = source.family;
  if (stacks === undefined) return null;
  const { sourcePositions, finalNorms, keyBias, ownSizes, relativeBias, melBins } = stacks;
  const sizes: Pick<Stacks, 'decoderHeads' | 'decoderFfn'> =
    ownSizes === undefined
      ? {}
      : {
          decoderHeads: read(source, 'decoderHeads')?.value ?? defaults.heads,
          decoderFfn: read(source, 'decoderFfn')?.value ?? defaults.ffn ?? 0,
        };
  return {
    sourcePositions,
    finalNorms,
    ...sizes,
    maxSourcePositions: maxSourceLength(source),
    ...(keyBias === undefined ? {} : { keyBias }),
    ...(relativeBias === undefined
      ? {}
      : { relativeBias: { buckets: read(source, 'buckets')?.value ?? usualBuckets, everyLayer: relativeBias === 'every' } }),
    ...(melBins === undefined ? {} : { melBins: read(source, 'melBins')?.value ?? melBins }),
  };
}

function maxSourceLength(source: Source): number | null {
  const { stacks, defaults, keys: ofFamily } = source.family;
  if (stacks?.maxSource !== 'like-target') return read(source, 'maxSource')?.value ?? stacks?.maxSource ?? null;
  const member = memberNamed(source.members, ofFamily.maxPositions);
  const written = member?.value.type === 'null' ? undefined : readMember(source, member, integer(1, 1_000_000_000));
  return written?.value ?? defaults.maxPositions;
}
