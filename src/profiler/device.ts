import { execFile } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import os from 'node:os';
import { basename } from 'node:path';
import { promisify } from 'node:util';
import type { ProfileDevice, ProviderName } from '../core/domain/profile';

const run = promisify(execFile);
const toolLimitMs = 10_000;

/** What this process can see of the device it runs on. */
interface DeviceFacts {
  readonly provider: ProviderName;
  readonly platform: NodeJS.Platform;
  readonly cpu: string;
  readonly memoryBytes: number;
  readonly nvidia: NvidiaGpu | null;
  /** Windows: names of the graphics adapters. */
  readonly adapters: readonly string[];
  /** Linux: shared libraries in the address space of the process, and device files it holds open. */
  readonly libraries: readonly string[];
  readonly deviceFiles: readonly string[];
}

interface NvidiaGpu {
  readonly name: string;
  readonly driver: string;
  readonly totalBytes: number;
  readonly freeBytes: number;
}

/** Vulkan drivers by what their library is called; those that draw on the CPU last. */
const vulkanDrivers = [
  { library: /^lib(GLX_nvidia|nvidia-glvkspirv)/, name: 'NVIDIA GPU', software: false },
  { library: /^(libvulkan_radeon|amdvlk)/, name: 'AMD GPU', software: false },
  { library: /^libvulkan_intel/, name: 'Intel GPU', software: false },
  { library: /^libvulkan_(nouveau|asahi|freedreno|panfrost|broadcom|powervr|virtio|dzn)/, name: 'GPU', software: false },
  { library: /^libvk_swiftshader/, name: 'SwiftShader', software: true },
  { library: /^libvulkan_lvp/, name: 'llvmpipe', software: true },
];

/** Device files of GPUs: DRM render nodes, NVIDIA's, and the paravirtual one of WSL. */
const gpuDeviceFile = /^\/dev\/(dri\/renderD\d+|nvidia\d+|dxg)$/;

/** The device behind a provider that runs. Call it after a session was created, when the driver is loaded. */
export function detectDevice(facts: DeviceFacts): ProfileDevice {
  const { provider, platform, cpu, memoryBytes, nvidia } = facts;
  const ofNvidia =
    nvidia === null ? null : ({ kind: 'gpu', name: nvidia.name, memoryBytes: nvidia.totalBytes, driver: nvidia.driver } as const);
  const unknown = { kind: 'gpu', name: 'GPU', memoryBytes: null, driver: null } as const;
  if (provider === 'cpu') return { kind: 'cpu', name: cpu, memoryBytes, driver: null };
  if (provider === 'cuda') return ofNvidia ?? { ...unknown, name: 'NVIDIA GPU' };
  // Apple's chips have one name and one memory for all that is on them.
  if (platform === 'darwin') return { ...unknown, name: cpu, memoryBytes };
  if (platform === 'win32') return windowsDevice(facts.adapters, ofNvidia) ?? unknown;
  return vulkanDevice(facts, ofNvidia) ?? unknown;
}

function windowsDevice(adapters: readonly string[], nvidia: ProfileDevice | null): ProfileDevice | null {
  const real = adapters.filter((name) => !/basic (render|display)/i.test(name));
  const [name] = real.length > 0 ? real : adapters;
  if (name === undefined) return null;
  if (real.length === 0) return { kind: 'software', name, memoryBytes: null, driver: null };
  return nvidia !== null && nvidia.name === name ? nvidia : { kind: 'gpu', name, memoryBytes: null, driver: null };
}

/**
 * The loader maps the drivers of all vendors; the one that has a GPU also holds its device file open, and Dawn prefers it to drawing on the
 * CPU.
 */
function vulkanDevice({ libraries, deviceFiles, memoryBytes }: DeviceFacts, nvidia: ProfileDevice | null): ProfileDevice | null {
  const loaded = vulkanDrivers.filter(({ library }) => libraries.some((file) => library.test(basename(file))));
  const hardware = deviceFiles.some((file) => gpuDeviceFile.test(file));
  const driver = loaded.find(({ software }) => software !== hardware) ?? loaded[0];
  if (driver === undefined) return null;
  if (driver.software) return { kind: 'software', name: driver.name, memoryBytes, driver: null };
  return driver.name === 'NVIDIA GPU' && nvidia !== null ? nvidia : { kind: 'gpu', name: driver.name, memoryBytes: null, driver: null };
}

/** Versions of CUDA and cuDNN by the libraries that are loaded: `libcudart.so.12.8.90` is 12.8.90. */
export function libraryVersions(libraries: readonly string[]): Record<string, string> {
  const versions: Record<string, string> = {};
  for (const file of libraries) {
    const [, name, version] = /^lib(cudart|cudnn)\.so\.([\d.]+)$/.exec(basename(file)) ?? [];
    if (name !== undefined && version !== undefined) versions[name === 'cudart' ? 'cuda' : name] = version;
  }
  return versions;
}

/** Inspects this process and runs the system's tools. What they do not report stays empty. */
export async function readDeviceFacts(provider: ProviderName): Promise<DeviceFacts> {
  const { platform } = process;
  return {
    provider,
    platform,
    cpu: processorName(),
    memoryBytes: os.totalmem(),
    nvidia: provider === 'cpu' || platform === 'darwin' ? null : await readNvidia(process.env['CUDA_VISIBLE_DEVICES']),
    adapters: provider !== 'cpu' && platform === 'win32' ? await readAdapters() : [],
    libraries: platform === 'linux' ? mappedLibraries() : [],
    deviceFiles: platform === 'linux' ? openFiles() : [],
  };
}

export function processorName(): string {
  return os.cpus()[0]?.model.trim() ?? process.arch;
}

/**
 * Whether this machine may have a GPU, without starting anything: Linux has a device file for each, other systems draw with one.
 * @param devices names in /dev and /dev/dri.
 */
export function mayHaveGpu(platform: NodeJS.Platform = process.platform, devices: readonly string[] = deviceFileNames()): boolean {
  return platform !== 'linux' || devices.some((name) => gpuDeviceFile.test(`/dev/${name}`));
}

function deviceFileNames(): string[] {
  const names = (folder: string): string[] => {
    try {
      return readdirSync(folder);
    } catch {
      return [];
    }
  };
  return [...names('/dev'), ...names('/dev/dri').map((name) => `dri/${name}`)];
}

/** The GPU that CUDA calls number 0, in the order of the bus; null without NVIDIA's tools. */
export async function readNvidia(visible: string | undefined): Promise<NvidiaGpu | null> {
  const query = ['--query-gpu=index,uuid,name,driver_version,memory.total,memory.free', '--format=csv,noheader,nounits'];
  try {
    const { stdout } = await run('nvidia-smi', query, { timeout: toolLimitMs, windowsHide: true });
    return parseNvidia(stdout, visible);
  } catch {
    return null;
  }
}

/** @param visible CUDA_VISIBLE_DEVICES: an index or a (shortened) UUID first. */
export function parseNvidia(csv: string, visible: string | undefined): NvidiaGpu | null {
  const rows = csv
    .split('\n')
    .map((line) => line.split(',').map((field) => field.trim()))
    .filter((fields) => fields.length === 6);
  const first = visible?.split(',')[0]?.trim() ?? '';
  const row = first === '' ? rows[0] : (rows.find(([index, uuid]) => index === first || uuid?.startsWith(first) === true) ?? rows[0]);
  if (row === undefined) return null;
  const [, , name = '', driver = '', total, free] = row;
  const bytes = (mebibytes: string | undefined) => Number(mebibytes) * 2 ** 20;
  return { name, driver, totalBytes: bytes(total), freeBytes: bytes(free) };
}

async function readAdapters(): Promise<string[]> {
  const script = '(Get-CimInstance Win32_VideoController).Name';
  try {
    const { stdout } = await run('powershell.exe', ['-NoProfile', '-NonInteractive', '-Command', script], {
      timeout: toolLimitMs,
      windowsHide: true,
    });
    return stdout.split(/\r?\n/).filter((name) => name.trim() !== '');
  } catch {
    return [];
  }
}

function mappedLibraries(): string[] {
  try {
    const files = readFileSync('/proc/self/maps', 'utf8').match(/\/\S*\.so[^\s/]*$/gm) ?? [];
    return [...new Set(files)];
  } catch {
    return [];
  }
}

function openFiles(): string[] {
  const folder = '/proc/self/fd';
  try {
    return readdirSync(folder).flatMap((name) => {
      try {
        return [readlinkSync(`${folder}/${name}`)];
      } catch {
        return [];
      }
    });
  } catch {
    return [];
  }
}
