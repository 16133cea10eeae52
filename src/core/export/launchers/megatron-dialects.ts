import type { LauncherFormat } from '../../formats/config-format';
import type { NarrowFormat } from '../../domain/number-formats';

/** How the settings of one format differ from the others'. */
interface MegatronDialect {
  /** Formats of GEMMs that a new file names. */
  readonly narrow: readonly NarrowFormat[];
  /** Bars may cut the pattern of a hybrid into stages. */
  readonly barsInPattern: boolean;
  /** The number of virtual stages is a setting in every version. */
  readonly countsVirtualStages: boolean;
  /** The number of offloaded layers switches the offload on. */
  readonly offloadsByNumber: boolean;
  /** The number of nodes has a place in every file. */
  readonly saysNodes: boolean;
}

const plain: MegatronDialect = { narrow: [], barsInPattern: true, countsVirtualStages: false, offloadsByNumber: false, saysNodes: false };

/** Of Megatron-LM and of what runs on Megatron Core. */
export const megatronDialects = {
  'megatron-shell': { ...plain, narrow: ['fp8', 'nvfp4'], offloadsByNumber: true },
  'megatron-yaml': plain,
  nemo: { ...plain, barsInPattern: false, countsVirtualStages: true, saysNodes: true },
  'megatron-bridge': { ...plain, narrow: ['fp8', 'nvfp4'], countsVirtualStages: true },
  primus: plain,
  'primus-bridge': { ...plain, countsVirtualStages: true },
  flagscale: plain,
  'nemo-rl': { ...plain, barsInPattern: false, countsVirtualStages: true, saysNodes: true },
} as const satisfies Partial<Record<LauncherFormat, MegatronDialect>>;

/** The formats of Megatron-LM and of what runs on Megatron Core. */
export type MegatronFormat = keyof typeof megatronDialects;
