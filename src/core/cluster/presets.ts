import type { GpuSpec, LinkSpec } from '../domain/cluster';
import { amd } from './gpus/amd';
import { nvidiaCards } from './gpus/nvidia-cards';
import { nvidiaServers } from './gpus/nvidia-servers';
import type { GpuRecord } from './gpus/record';

/**
 * Every GPU with a preset, by the name `terapipe.json` uses under `cluster.gpu`. Schema, settings and documents are written from this list:
 * `npm run docs -- --write`.
 */
const gpus = { ...nvidiaServers, ...nvidiaCards, ...amd } as const;

export type GpuPresetName = keyof typeof gpus;
export const gpuPresetNames = Object.keys(gpus) as readonly GpuPresetName[];

/** A GPU with the node it usually sits in. */
interface GpuPreset {
  readonly gpu: GpuSpec;
  readonly links: LinkSpec;
  readonly gpusPerNode: number;
}

function buildPreset(name: GpuPresetName): GpuPreset {
  const { gpu, links, gpusPerNode } = gpus[name];
  return { gpu: { name, ...gpu }, links, gpusPerNode };
}

/** `NVIDIA H100 80 GB SXM, 8 a node`. */
export function gpuTitle(name: GpuPresetName): string {
  return gpus[name].title;
}

/** Compute capability of an NVIDIA GPU with a preset (`9.0`); null of others. */
export function presetComputeCapability(name: string): string | null {
  const record: GpuRecord | undefined = Object.hasOwn(gpus, name) ? gpus[name as GpuPresetName] : undefined;
  return record?.computeCapability ?? null;
}

/** Presets by name. Every figure can be overridden in `terapipe.json`. */
export const gpuPresets = Object.fromEntries(gpuPresetNames.map((name) => [name, buildPreset(name)])) as Readonly<
  Record<GpuPresetName, GpuPreset>
>;

/** Other GPUs of the same name, with fewer units, lower clocks or half a GPU. A100, A800 and V100 on PCIe have the peak of the preset. */
const otherVariants = /\b(mig|laptop|max-q|nvl|ada)\b|\bh[18]00 pcie\b/;

const gib = 2 ** 30;

/**
 * The preset of a GPU as its driver names it (`NVIDIA A100-SXM4-80GB`, `NVIDIA H100 80GB HBM3`), by its memory where the name
 * gives none.
 * @returns null for a GPU without a preset, and for relatives of one (MIG slices, laptop chips, H100 PCIe and NVL).
 */
export function matchGpuPreset(deviceName: string, memoryBytes: number | null): GpuPresetName | null {
  const name = deviceName.toLowerCase().replace(/[_-]+/g, ' ').replace(/\s+/g, ' ');
  if (otherVariants.test(deviceName.toLowerCase()) || otherVariants.test(name)) return null;
  const sized = /\b(\d+) ?gb\b/.exec(name)?.[1];
  const memoryGB = sized === undefined ? memoryBytes && memoryBytes / gib : Number(sized);
  const tolerance = sized === undefined ? 0.15 : 0.01;
  const fitting = gpuPresetNames.filter((preset) => {
    const { driverName, soldWithGB, isUsual }: GpuRecord = gpus[preset];
    return (
      driverName.test(name) &&
      (soldWithGB === undefined || (memoryGB === null ? isUsual === true : Math.abs(memoryGB / soldWithGB - 1) < tolerance))
    );
  });
  return fitting.length === 1 ? (fitting[0] ?? null) : null;
}
