import { maximum, sum } from '../../../core/numbers';
import type { OutOfMemory } from './evidence';

/*
 * PyTorch's out-of-memory errors: c10/cuda/CUDACachingAllocator.cpp, `malloc`. Until 2.0 in brackets (`GPU 0; 23.70 GiB total capacity; ...
 * already allocated; ... free; ... reserved in total by PyTorch`; `cached` until 1.4), since 2.1 in sentences, with private pools since
 * 2.4. Read at releases 1.4 to 2.9.
 */

const size = String.raw`(\d{1,20}(?:\.\d{1,6})?) ?(bytes|[KMGT]iB)`;
const units = new Map([
  ['bytes', 1],
  ['KiB', 2 ** 10],
  ['MiB', 2 ** 20],
  ['GiB', 2 ** 30],
  ['TiB', 2 ** 40],
]);

const patterns = {
  requestBytes: [`Tried to allocate ${size}`],
  capacityBytes: [`total capaci?ty of ${size}`, `${size} total capacity`],
  freeBytes: [`of which ${size} is free`, `; ${size} free`],
  processBytes: [`this process has ${size} memory in use`],
  allocatedBytes: [`${size} is allocated by PyTorch`, `${size} already allocated`],
  // until 1.4 `cached` is what no tensor has, not all that is reserved
  unallocatedBytes: [`${size} is reserved by PyTorch but unallocated`, `${size} cached`],
  poolBytes: [`with ${size} allocated in private pools`],
  allowedBytes: [`${size} allowed`],
} as const;
const reserved = [`${size} reserved in total by PyTorch`];

/** An error of PyTorch's allocator, or of a `cudaMalloc` outside it. */
export const errorStart =
  /out of memory\. Tried to allocate|(?:CUDA|HIP) error: out of memory|(?:Cuda|HIP) failure (?:2 )?'out of memory'|CUDA_ERROR_OUT_OF_MEMORY|Failed to CUDA (?:calloc|malloc)/;
/** A request of over 2^60 bytes (`malloc` of CUDACachingAllocator.cpp). */
const badSize = 'Tried to allocate more than 1EB memory';
const errorEnd = /reserved by PyTorch but unallocated|in total by PyTorch|\d cached\)|environment-variables/;

/** Whether the figures of a message are all there: terminals and boxes break it into lines. */
export function isWholeMessage(text: string): boolean {
  return !text.includes('Tried to allocate') || text.includes(badSize) || errorEnd.test(text);
}

/** Characters of a line of a traceback that are kept. */
const tracebackWidth = 300;

/**
 * The beginning of a line, as a text of its own: V8 keeps the whole text that a `slice` or `trim` is of, here a piece of the log of 1 MiB.
 */
export function ownStart(line: string): string {
  return Array.from(line.slice(0, tracebackWidth)).join('');
}

/** The figures of a message. @param text with what follows it on further lines. */
export function readMessage(text: string, rank: number | null, traceback: readonly string[]): OutOfMemory {
  const start = text.search(errorStart);
  const plain = text.slice(start).replace(/[\s\u2502|]+/g, ' ');
  const figure = (sources: readonly string[]): number | null => bytesIn(plain, sources);
  const capacityBytes = figure(patterns.capacityBytes);
  const allocatedBytes = figure(patterns.allocatedBytes);
  const total = figure(reserved);
  const unallocated = total === null || allocatedBytes === null ? null : Math.max(0, total - allocatedBytes);
  const processBytes = figure(patterns.processBytes);
  return {
    rank,
    requestBytes: figure(patterns.requestBytes),
    capacityBytes,
    freeBytes: figure(patterns.freeBytes),
    // WSL and containers that hide processes print 0, or 16 EiB
    processBytes: processBytes === null || processBytes === 0 || processBytes > (capacityBytes ?? Infinity) ? null : processBytes,
    allocatedBytes,
    unallocatedBytes: figure(patterns.unallocatedBytes) ?? unallocated,
    poolBytes: figure(patterns.poolBytes),
    allowedBytes: figure(patterns.allowedBytes),
    othersBytes: otherProcesses(plain, capacityBytes ?? Infinity),
    isBadSize: plain.includes(badSize),
    traceback: [ownStart(text.slice(0, start)), ...traceback],
  };
}

/**
 * Bytes of other processes that the message lists by their numbers; null: none, or one that may be this one, or one of no size that a GPU
 * can hold, as WSL and containers that hide processes print.
 */
function otherProcesses(text: string, capacityBytes: number): number | null {
  const listed = [...text.matchAll(new RegExp(`Process \\d{1,12} has ${size} memory in use`, 'g'))];
  const sizes = listed.map(([, number, unit = '']) => Math.round(Number(number) * (units.get(unit) ?? 1)));
  if (sizes.some((bytes) => bytes === 0 || bytes > capacityBytes)) return null;
  // in a container this process may be listed as another: one of several, at most the largest
  const own = text.includes('this process has') ? 0 : maximum(sizes);
  return sizes.length < (own === 0 ? 1 : 2) ? null : sum(sizes) - own;
}

function bytesIn(text: string, sources: readonly string[]): number | null {
  for (const source of sources) {
    const [, number, unit = ''] = new RegExp(source).exec(text) ?? [];
    if (number !== undefined) return Math.round(Number(number) * (units.get(unit) ?? 1));
  }
  return null;
}
