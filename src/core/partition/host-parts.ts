import { formatBytes } from '../format';
import { listOf, sentence, type Sentence } from '../sentence';

/** Named parts of what a node's processes hold in its memory all through the step, in the order they are shown. */
export const hostParts = ['optimizer', 'activations', 'dataLoader'] as const;
export type HostPart = (typeof hostParts)[number];

/** Memory of the host of the fullest node, bytes, and what is on its NVMe. */
export interface HostMemory {
  /** Counted from 0, in the order of ranks; of a cluster of several groups in the order of the groups. */
  readonly node: number;
  readonly parts: Readonly<Record<HostPart, number>>;
  /** All parts together. */
  readonly peakBytes: number;
  /** What an asynchronous save of a checkpoint holds more until it is written. */
  readonly checkpointBytes: number;
  readonly nvmeBytes: number;
}

/** `Host memory, fullest node: optimizer 249 GiB, data loader 1.75 MiB; 105 GiB more during an asynchronous save; 1.2 TiB on its NVMe`. */
export function hostText({ parts, checkpointBytes, nvmeBytes }: HostMemory): Sentence {
  const shown = hostParts.filter((part) => parts[part] > 0).map((part) => partTexts[part](formatBytes(parts[part])));
  const held = shown.length === 0 ? sentence`nothing` : listOf(shown);
  const all = sentence`Host memory, fullest node: ${held}; ${formatBytes(checkpointBytes)} more during an asynchronous save`;
  return nvmeBytes > 0 ? sentence`${all}; ${formatBytes(nvmeBytes)} on its NVMe` : all;
}

/** What `hostText` leaves out. */
export const uncountedOnHost = sentence`without the processes themselves and weights on the host`;

const partTexts: Readonly<Record<HostPart, (bytes: string) => Sentence>> = {
  optimizer: (bytes) => sentence`optimizer ${bytes}`,
  activations: (bytes) => sentence`activations ${bytes}`,
  dataLoader: (bytes) => sentence`data loader ${bytes}`,
};
