import type { GpuSpec, LinkSpec } from '../spec/cluster';
import type { GpuRecord } from './gpu-record';
import { v100_16GB } from './gpus/v100-16gb';
import { v100_32GB } from './gpus/v100-32gb';
import { a100_40GB } from './gpus/a100-40gb';
import { a100_80GB } from './gpus/a100-80gb';
import { a800_80GB } from './gpus/a800-80gb';
import { h100_80GB } from './gpus/h100-80gb';
import { h100_96GB } from './gpus/h100-96gb';
import { h800_80GB } from './gpus/h800-80gb';
import { h20 } from './gpus/h20';
import { h200 } from './gpus/h200';
import { gh200 } from './gpus/gh200';
import { b200 } from './gpus/b200';
import { b300 } from './gpus/b300';
import { gb200 } from './gpus/gb200';
import { gb300 } from './gpus/gb300';
import { a10g } from './gpus/a10g';
import { l4 } from './gpus/l4';
import { a6000 } from './gpus/a6000';
import { l20 } from './gpus/l20';
import { l40s } from './gpus/l40s';
import { rtx3090 } from './gpus/rtx3090';
import { rtx4090 } from './gpus/rtx4090';
import { rtx5090 } from './gpus/rtx5090';
import { mi300x } from './gpus/mi300x';
import { mi325x } from './gpus/mi325x';
import { mi355x } from './gpus/mi355x';

/**
 * Every GPU with a preset, by the name `terapipe.json` uses under `cluster.gpu`. Schema, settings and documents are written from this list:
 * `npm run docs -- --write`.
 */
const records = {
  'V100-16GB': v100_16GB,
  'V100-32GB': v100_32GB,
  'A100-40GB': a100_40GB,
  'A100-80GB': a100_80GB,
  'A800-80GB': a800_80GB,
  'H100-80GB': h100_80GB,
  'H100-96GB': h100_96GB,
  'H800-80GB': h800_80GB,
  H20: h20,
  H200: h200,
  GH200: gh200,
  B200: b200,
  B300: b300,
  GB200: gb200,
  GB300: gb300,
  A10G: a10g,
  L4: l4,
  L20: l20,
  L40S: l40s,
  A6000: a6000,
  RTX3090: rtx3090,
  RTX4090: rtx4090,
  RTX5090: rtx5090,
  MI300X: mi300x,
  MI325X: mi325x,
  MI355X: mi355x,
} as const satisfies Readonly<Record<string, GpuRecord>>;

export type GpuPresetName = keyof typeof records;
export const gpuPresetNames = Object.keys(records) as readonly GpuPresetName[];

/** A GPU with the node it usually sits in. */
export interface GpuPreset {
  readonly gpu: GpuSpec;
  readonly links: LinkSpec;
  readonly gpusPerNode: number;
}

function presetOf(name: GpuPresetName): GpuPreset {
  const { gpu, links, gpusPerNode } = records[name];
  return { gpu: { name, ...gpu }, links, gpusPerNode };
}

/** `NVIDIA H100 80 GB SXM, 8 a node`. */
export function gpuTitle(name: GpuPresetName): string {
  return records[name].title;
}

/** Compute capability of an NVIDIA GPU with a preset (`9.0`); null of others. */
export function computeCapabilityOf(name: string): string | null {
  const record: GpuRecord | undefined = Object.hasOwn(records, name) ? records[name as GpuPresetName] : undefined;
  return record?.computeCapability ?? null;
}

/** Presets by name. Every figure can be overridden in `terapipe.json`. */
export const gpuPresets = Object.fromEntries(gpuPresetNames.map((name) => [name, presetOf(name)])) as Readonly<
  Record<GpuPresetName, GpuPreset>
>;

/** Other GPUs of the same name, with fewer units, lower clocks or half a GPU. A100, A800 and V100 on PCIe have the peak of the preset. */
const otherVariants = /\b(mig|laptop|max-q|nvl)\b|\bh[18]00 pcie\b/;

const gib = 2 ** 30;

/**
 * The preset of a GPU as its driver names it (`NVIDIA A100-SXM4-80GB`, `NVIDIA H100 80GB HBM3`), its memory deciding where the name does
 * not say.
 * @returns null for a GPU without a preset, and for relatives of one (MIG slices, laptop chips, H100 PCIe and NVL).
 */
export function gpuPresetOf(deviceName: string, memoryBytes: number | null): GpuPresetName | null {
  const name = deviceName.toLowerCase().replace(/[_-]+/g, ' ').replace(/\s+/g, ' ');
  if (otherVariants.test(deviceName.toLowerCase()) || otherVariants.test(name)) return null;
  const sized = /\b(\d+) ?gb\b/.exec(name)?.[1];
  const memoryGB = sized === undefined ? memoryBytes && memoryBytes / gib : Number(sized);
  const fitting = gpuPresetNames.filter((preset) => {
    const { driverName, soldWithGB }: GpuRecord = records[preset];
    return driverName.test(name) && (soldWithGB === undefined || near(memoryGB, soldWithGB));
  });
  return fitting.length === 1 ? (fitting[0] ?? null) : null;
}

function near(memoryGB: number | null, wanted: number): boolean {
  return memoryGB !== null && Math.abs(memoryGB / wanted - 1) < 0.15;
}
