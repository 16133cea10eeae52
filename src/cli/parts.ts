import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { Script } from 'node:vm';
import { isRecord, own } from '../core/records';
import { cacheFile, readCodeCache, sourceDigest, writeCodeCache, type CachedCode } from './code-cache';

/*
 * The modules of commands are in two files that esbuild.mjs writes: what every command line needs, and the rest, which is read when
 * something first asks for one of its modules. What V8 compiled of both is kept, so that the next start compiles nothing.
 */

type Module = (exports: object, load: (name: string) => unknown, module: { exports: unknown }, folder: string) => void;

/** The files, in the order in which modules are looked for. */
const tables = ['terminal.js', 'terminal-later.js'] as const;

interface Table {
  readonly modules: Readonly<Record<string, Module>>;
  readonly script: Script;
  /** Of the source. */
  readonly digest: string;
  readonly isNew: boolean;
}

/** Modules by name, each loaded when it is first asked for. */
interface Parts {
  /** @returns the exports of `NAME.ts` of this folder, an entry of the build. */
  readonly load: (name: string) => unknown;
  /** Keeps what was compiled for the next start; where that fails, nothing is kept. */
  readonly keepCode: () => void;
}

/** @param folder of the bundles. @param use what is run: each use runs other functions, and keeps its own code. */
export function openParts(folder: string, use: string): Parts {
  const external = createRequire(path.join(folder, tables[0]));
  const cache = cacheFile(folder, use);
  const kept = readCodeCache(cache);
  const open: Table[] = [];
  const loaded = new Map<string, { exports: unknown }>();
  const find = (name: string): Module | undefined => {
    for (const [index, file] of tables.entries()) {
      const table = (open[index] ??= openTable(path.join(folder, file), kept.get(file)));
      const found = own(table.modules, name);
      if (found !== undefined) return found;
    }
    return undefined;
  };
  const load = (name: string): unknown => {
    const known = loaded.get(name);
    if (known !== undefined) return known.exports;
    const run = name.startsWith('./') ? find(name) : undefined;
    if (run === undefined) return external(name) as unknown;
    const module: { exports: unknown } = { exports: {} };
    loaded.set(name, module);
    run(module.exports as object, load, module, folder);
    module.exports = asValues(module.exports);
    return module.exports;
  };
  return {
    load: (name) => load(`./${name}.js`),
    keepCode: () => {
      if (!open.some(({ isNew }) => isNew)) return;
      writeCodeCache(cache, () => {
        const made = open.map(({ script, digest }, index): [string, CachedCode] => [
          tables[index] ?? '',
          { digest, code: script.createCachedData() },
        ]);
        return new Map([...kept, ...made]);
      });
    },
  };
}

/**
 * The exports of a module that has run, as plain values: esbuild's are getters that ask getters, which inner loops of one module that call
 * another one's functions pay for at each call. As they are where one has no value yet: of modules that wait for each other.
 */
function asValues(exports: unknown): unknown {
  if (!isRecord(exports) || exports['__esModule'] !== true) return exports;
  const values = { ...exports };
  if (Object.values(values).includes(undefined)) return exports;
  return Object.defineProperty(values, '__esModule', { value: true });
}

function openTable(filename: string, kept: CachedCode | undefined): Table {
  const source = readFileSync(filename, 'utf8');
  const digest = sourceDigest(source);
  const cachedData = kept?.digest === digest ? kept.code : undefined;
  const script = new Script(source, cachedData === undefined ? { filename } : { filename, cachedData });
  const modules = script.runInThisContext() as Table['modules'];
  return { modules, script, digest, isNew: cachedData === undefined || script.cachedDataRejected === true };
}
