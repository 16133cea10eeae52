import type { ElasticEpoch } from '../../../src/features/elastic/core/plan';
import { plotIn, type Plot } from '../../charts/plot';

/** What the rows of the chart show. */
export interface Machine {
  readonly nodes: number;
  readonly gpusPerNode: number;
}

/** Rows of the chart, CSS px from its top: frozen layers, cache, GPUs by node, epoch numbers. */
export interface Rows {
  readonly layersTop: number;
  readonly layersHeight: number;
  readonly cacheTop: number;
  readonly cacheHeight: number;
  readonly gpusTop: number;
  readonly gpuHeight: number;
  /** Between nodes. */
  readonly nodeGap: number;
  readonly gpusBottom: number;
  readonly height: number;
}

export const axisPx = { left: 72, right: 12, bottom: 26 } as const;

/** Where epochs are drawn; rows have their own heights. */
export function epochPlot(surface: Parameters<typeof plotIn>[0]): Plot {
  return plotIn(surface, { left: axisPx.left, right: axisPx.right });
}

const gpuAreaPx = 240;
const highestGpuPx = 26;
const lowestGpuPx = 2;
const tallestAreaPx = 560;

/** Few GPUs get high rows, many get low ones; more than fit share pixels. */
export function chartRows({ nodes, gpusPerNode }: Machine): Rows {
  const gpus = nodes * gpusPerNode;
  const wanted = Math.min(highestGpuPx, Math.max(lowestGpuPx, gpuAreaPx / gpus));
  const nodeGap = nodes > 1 && gpusPerNode * wanted >= 12 ? 4 : 0;
  const area = Math.min(tallestAreaPx, gpus * wanted + (nodes - 1) * nodeGap);
  const gpuHeight = Math.max(0.01, (area - (nodes - 1) * nodeGap) / gpus);
  const layersTop = 8;
  const layersHeight = 64;
  const cacheTop = layersTop + layersHeight + 8;
  const cacheHeight = 14;
  const gpusTop = cacheTop + cacheHeight + 8;
  const gpusBottom = gpusTop + area;
  return { layersTop, layersHeight, cacheTop, cacheHeight, gpusTop, gpuHeight, nodeGap, gpusBottom, height: gpusBottom + axisPx.bottom };
}

/** The same in a strip of the side view: low rows, nothing below them. */
export function stripRows({ nodes, gpusPerNode }: Machine): Rows {
  const gpus = nodes * gpusPerNode;
  const area = Math.min(96, Math.max(24, gpus * 4));
  const nodeGap = nodes > 1 && area / nodes >= 12 ? 2 : 0;
  const gpusTop = 42;
  const gpusBottom = gpusTop + area;
  return {
    layersTop: 0,
    layersHeight: 30,
    cacheTop: 33,
    cacheHeight: 6,
    gpusTop,
    gpuHeight: Math.max(0.01, (area - (nodes - 1) * nodeGap) / gpus),
    nodeGap,
    gpusBottom,
    height: gpusBottom + stripChangePx,
  };
}

/** Room for the marks of changes. */
const stripChangePx = 7;

/** Top of a GPU's row. */
export function gpuTop({ gpusTop, gpuHeight, nodeGap }: Rows, { gpusPerNode }: Machine, gpu: number): number {
  return gpusTop + gpu * gpuHeight + Math.floor(gpu / gpusPerNode) * nodeGap;
}

/** What lies at a height of the chart. */
export type Zone = { readonly kind: 'layers' | 'cache' } | { readonly kind: 'gpu'; readonly gpu: number };

/** The row at a height, CSS px; null between rows. */
export function zoneAt(rows: Rows, machine: Machine, y: number): Zone | null {
  if (y >= rows.layersTop && y < rows.layersTop + rows.layersHeight) return { kind: 'layers' };
  if (y >= rows.cacheTop && y < rows.cacheTop + rows.cacheHeight) return { kind: 'cache' };
  if (y < rows.gpusTop || y >= rows.gpusBottom) return null;
  const nodePx = machine.gpusPerNode * rows.gpuHeight + rows.nodeGap;
  const node = Math.min(machine.nodes - 1, Math.floor((y - rows.gpusTop) / nodePx));
  const inNode = Math.floor((y - rows.gpusTop - node * nodePx) / rows.gpuHeight);
  return inNode >= machine.gpusPerNode ? null : { kind: 'gpu', gpu: node * machine.gpusPerNode + inNode };
}

/** Which pipeline and stage a GPU runs in an epoch; null when it idles. */
export function stageOn(
  { firstGpus, pipelineLength }: ElasticEpoch,
  gpu: number,
): { readonly pipeline: number; readonly stage: number } | null {
  const pipeline = firstGpus.findIndex((first) => gpu >= first && gpu < first + pipelineLength);
  return pipeline === -1 ? null : { pipeline, stage: gpu - (firstGpus[pipeline] ?? 0) };
}
