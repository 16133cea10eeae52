import type { ServedCut, ServingRuntime } from './serving';
import { shellValue } from '../../../core/launchers/megatron/shell-syntax';
import { sentence, type Sentence } from '../../../core/sentence';

/** A launch of a serving engine. */
export interface ServingCommand {
  readonly runtime: ServingRuntime;
  readonly title: string;
  /** Each flag with its value, one after another. */
  readonly flags: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** In the syntax of a shell, a flag a line. */
  readonly command: string;
  /** What the engine cannot be set to, or also needs. */
  readonly notes: readonly Sentence[];
}

/** What is launched. */
interface Served {
  /** Folder of the model's config.json; null: not known, so whoever starts the engine sets it. */
  readonly model: string | null;
  readonly tensor: number;
  readonly pipeline: number;
  /** Of each stage; null: as the engine shares them out. */
  readonly stageLayers: readonly number[] | null;
}

/** The longest chunk that SGLang takes by default (`--max-prefill-tokens`). */
const sglangMostPrefill = 16_384;

interface Launch {
  readonly title: string;
  readonly start: (model: string) => string;
  readonly layersVariable: string;
  readonly flags: (cut: ServedCut, served: Served) => readonly (readonly [string, string?])[];
  readonly environment: (cut: ServedCut) => Readonly<Record<string, string>>;
  readonly notes: (cut: ServedCut) => readonly Sentence[];
}

const equalOnly = sentence`It has no flag for chunks of unequal lengths: these are the best equal ones`;

const launches: Readonly<Record<ServingRuntime, Launch>> = {
  sglang: {
    title: 'SGLang',
    start: (model) => `python3 -m sglang.launch_server --model-path ${model}`,
    layersVariable: 'SGLANG_PP_LAYER_PARTITION',
    flags: ({ settings: { firstChunk, smoothing } }, { tensor, pipeline }) => [
      ['--tp-size', String(tensor)],
      ['--pp-size', String(pipeline)],
      ['--chunked-prefill-size', String(firstChunk)],
      ...(firstChunk > sglangMostPrefill ? [['--max-prefill-tokens', String(firstChunk)] as const] : []),
      ...(smoothing > 0 ? [['--enable-dynamic-chunking'] as const] : []),
    ],
    environment: ({ settings: { smoothing } }) => (smoothing > 0 ? { SGLANG_DYNAMIC_CHUNKING_SMOOTH_FACTOR: String(smoothing) } : {}),
    notes: ({ settings: { smoothing } }) => [
      smoothing > 0
        ? sentence`At startup it fits a quadratic to prompts up to 1.25 first chunks and derives its own chunk sizes`
        : sentence`Chunks of equal length: shrinking ones as it computes them would be slower`,
    ],
  },
  vllm: {
    title: 'vLLM',
    start: (model) => `vllm serve ${model}`,
    layersVariable: 'VLLM_PP_LAYER_PARTITION',
    flags: ({ settings }, served) => [...vllmFlags(settings.firstChunk, served), ['--enable-chunked-prefill']],
    environment: () => ({}),
    notes: () => [equalOnly, sentence`Tokens that are decoded in the same step count as tokens of the chunk`],
  },
  'vllm-ascend': {
    title: 'vLLM-Ascend',
    start: (model) => `vllm serve ${model}`,
    layersVariable: 'VLLM_PP_LAYER_PARTITION',
    flags: ({ settings: { firstChunk, smoothing, leastChunk } }, served) => [
      ...vllmFlags(firstChunk, served),
      ['--enable-chunked-prefill'],
      [
        '--additional-config',
        JSON.stringify({ profiling_chunk_config: { enabled: true, smooth_factor: smoothing, min_chunk: leastChunk ?? firstChunk } }),
      ],
    ],
    environment: () => ({}),
    notes: () => [sentence`Derives chunk sizes from a fitted quadratic; its main branch expects this inside scheduler_config`],
  },
};

function vllmFlags(firstChunk: number, { tensor, pipeline }: Served): readonly (readonly [string, string])[] {
  return [
    ['--tensor-parallel-size', String(tensor)],
    ['--pipeline-parallel-size', String(pipeline)],
    ['--max-num-batched-tokens', String(firstChunk)],
  ];
}

const unknownModel = '"${MODEL:?set it to the folder of the model}"';

/** How an engine is launched so that its rule makes the chunks of `cut`. */
export function servingCommand(cut: ServedCut, served: Served): ServingCommand {
  const { title, start, layersVariable, flags, environment, notes } = launches[cut.runtime];
  const { model, stageLayers } = served;
  const isUneven = stageLayers !== null && new Set(stageLayers).size > 1;
  const variables = { ...environment(cut), ...(isUneven ? { [layersVariable]: stageLayers.join(',') } : {}) };
  const given = flags(cut, served).map(([name, value]) => (value === undefined ? name : `${name} ${shellValue(value)}`));
  const before = Object.entries(variables).map(([name, value]) => `${name}=${shellValue(value)} `);
  return {
    runtime: cut.runtime,
    title,
    flags: given,
    environment: variables,
    command: `${before.join('')}${[start(model === null ? unknownModel : shellValue(model)), ...given].join(' \\\n  ')}`,
    notes: [
      ...(model === null ? [sentence`No config.json was read: set MODEL to the folder that has the model and its weights`] : []),
      ...notes(cut),
    ],
  };
}
