import esbuild from 'esbuild';
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { licenseTexts } from './license-texts';

/*
 * Third-party notices, of what esbuild puts into the bundles and of what the package holds next to them; versions and licenses as the lock
 * file has them.
 */

const root = path.resolve(import.meta.dirname, '../..');
/** In the package as they are: `test/harness/package.mjs` copies the first two, `esbuild.mjs` the grammar of the last. */
const copied = ['onnxruntime-node', 'onnxruntime-common', 'tree-sitter-bash'];

interface Locked {
  readonly version: string;
  readonly license?: string;
}

/** Who holds the rights of packages that do not say it themselves. */
const holders = new Map([
  ['@bufbuild/protobuf', 'Buf Technologies, Google'],
  ['eslint-visitor-keys', 'Toru Nagashima, OpenJS Foundation'],
  ['onnxruntime-common', 'Microsoft Corporation'],
  ['onnxruntime-node', 'Microsoft Corporation'],
]);

/** Text of THIRD_PARTY_NOTICES.md. @throws Error for a license without a text here. */
export function noticesText(): string {
  const { packages } = JSON.parse(readFileSync(path.join(root, 'package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, Locked>>;
  };
  const folders = [...new Set([...bundledFolders(), ...copied.map((name) => `node_modules/${name}`)])].sort();
  const rows = folders.map((folder) => {
    const { version = '', license = '' } = packages[folder] ?? {};
    return {
      name: folder.replace(/^.*node_modules\//, ''),
      version,
      license: license.replace(/^\((.*)\)$/, '$1'),
      holder: holders.get(folder.replace(/^.*node_modules\//, '')) ?? readHolder(folder),
    };
  });
  const licenses = [...new Set(rows.flatMap(({ license }) => license.split(/ AND | OR /)))].sort();
  const texts = licenses.map((license) => {
    const text = licenseTexts[license];
    if (text === undefined) throw new Error(`No text of the license ${license} in test/docs/license-texts.ts`);
    return text;
  });
  return [
    '# Third-party notices',
    'The packaged extension and the npm package contain, in addition to their own code, the packages below: bundled into `dist`, or next to the bundles (ONNX Runtime in `dist/node_modules`, WebAssembly of tree-sitter in `dist/*.wasm`). onnx-buf has the ONNX schema (Apache-2.0, ONNX Project Contributors). Comments that authors ask to keep are in `dist/*.LEGAL.txt`.',
    ['| package | version | license | copyright |', '| --- | --- | --- | --- |']
      .concat(rows.map(({ name, version, license, holder }) => `| ${name} | ${version} | ${license} | ${holder} |`))
      .join('\n'),
    ...texts,
    '',
  ].join('\n\n');
}

/** Folders of the packages that the bundles of `esbuild.mjs` have code of. */
function bundledFolders(): string[] {
  const builds = readFileSync(path.join(root, 'esbuild.mjs'), 'utf8');
  const { metafile } = esbuild.buildSync({
    absWorkingDir: root,
    entryPoints: [...builds.matchAll(/'((?:src|webview)\/[\w/-]+\.ts)'/g)].map(([, entry = '']) => entry),
    bundle: true,
    write: false,
    metafile: true,
    outdir: 'dist',
    platform: 'node',
    format: 'esm',
    external: ['vscode', 'onnxruntime-node'],
    mainFields: ['module', 'main'],
    logLevel: 'silent',
  });
  // What tree shaking leaves nothing of is in no bundle.
  const inputs = Object.values(metafile.outputs).flatMap((output) => Object.entries(output.inputs));
  return inputs.flatMap(([input, { bytesInOutput }]) => {
    const [folder] = /node_modules\/(?:.*node_modules\/)?(?:@[^/]+\/)?[^/]+/.exec(input) ?? [];
    return folder === undefined || bytesInOutput === 0 ? [] : [folder];
  });
}

/** Who holds the rights, by the package's license or else its manifest. */
function readHolder(folder: string): string {
  const license = readdirSync(path.join(root, folder)).find((name) => /^licen[sc]e/i.test(name));
  const text = license === undefined ? '' : readFileSync(path.join(root, folder, license), 'utf8');
  const [line] = /^[ \t]*Copyright (?:\([cC]\)|\d|[A-Z][a-z]+ [A-Z]).*$/m.exec(text) ?? [];
  if (line !== undefined)
    return line
      .trim()
      .replace(/^Copyright\s+/, '')
      .replace(/\s*<[^>]*>|\s*\(https?:[^)]*\)|,? all rights reserved\.?/gi, '');
  const { author } = JSON.parse(readFileSync(path.join(root, folder, 'package.json'), 'utf8')) as {
    readonly author?: string | { readonly name: string };
  };
  return (typeof author === 'object' ? author.name : (author ?? '')).replace(/\s*<[^>]*>/g, '');
}
