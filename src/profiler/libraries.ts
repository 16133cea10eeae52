import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { RefusalFacts } from './diagnose';

const run = promisify(execFile);
const lddLimitMs = 10_000;

type Installed = Pick<RefusalFacts, 'version' | 'folder' | 'present' | 'missing' | 'nvidiaDriver'>;

/**
 * What lies on this machine of the onnxruntime-node that `childFile` loads. Only its own provider libraries are looked at, with `ldd` on
 * Linux; what cannot be read counts as not there.
 *
 * @param env environment of the child: its LD_LIBRARY_PATH decides what is found.
 */
export async function installedLibraries(childFile: string, env: NodeJS.ProcessEnv): Promise<Installed> {
  const home = packageFolder(childFile);
  const folder = home === null ? null : join(home, 'bin', 'napi-v6', process.platform, process.arch);
  const present = folder === null ? [] : namesIn(folder).filter((name) => /onnxruntime_providers_\w+\.(so|dll)$/.test(name));
  const cuda = present.filter((name) => /_(shared|cuda)\.so$/.test(name));
  const missing = folder === null ? [] : await Promise.all(cuda.map((name) => notFound(join(folder, name), env)));
  return {
    version: home === null ? null : versionIn(home),
    folder,
    present,
    missing: [...new Set(missing.flat())],
    nvidiaDriver: readTextFile('/sys/module/nvidia/version')?.trim() ?? null,
  };
}

function packageFolder(childFile: string): string | null {
  try {
    return dirname(createRequire(childFile).resolve('onnxruntime-node/package.json'));
  } catch {
    return null;
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function versionIn(home: string): string | null {
  return /"version": *"([^"]+)"/.exec(readTextFile(join(home, 'package.json')) ?? '')?.[1] ?? null;
}

/** Libraries that the dynamic loader would not find for `file`. */
async function notFound(file: string, env: NodeJS.ProcessEnv): Promise<string[]> {
  if (process.platform !== 'linux') return [];
  try {
    const { stdout } = await run('ldd', [file], { env: { ...env, LC_ALL: 'C' }, timeout: lddLimitMs });
    return [...stdout.matchAll(/^\s*(\S+) => not found/gm)].map(([, name]) => name ?? '');
  } catch {
    return [];
  }
}

function readTextFile(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return null;
  }
}
