import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/*
 * Who may import whom. `architecture.test.ts` enforces these tables, and `npm run docs -- --write` writes src/README.md and
 * webview/README.md from them.
 */

/**
 * A folder of src/core: what is in it, and which of the others it may import, types included. Everybody may use core's own files, which use
 * `domain` only.
 */
export interface CoreRoom {
  readonly about: string;
  readonly imports: readonly string[];
}

/** From the lowest to the highest: a room imports only rooms above it in this table. */
export const coreRooms: Readonly<Record<string, CoreRoom>> = {
  domain: {
    about:
      'what everyone shares: model, cluster, plan request, scheme, profile, located values; `settings/` has a record of each setting, from which its type, key, hover and checks follow',
    imports: [],
  },
  model: { about: 'counts parameters, FLOPs and layers of a model', imports: ['domain'] },
  cluster: { about: 'presets of GPUs, links and groups of nodes', imports: ['domain'] },
  schedules: {
    about: "orders of operations by schedule kind, their simulation, idle time, zero bubble, PyTorch's CSV",
    imports: ['domain'],
  },
  slicing: {
    about: 'token slices: the TeraPipe program with its proof, and cuts for the makespan of other schedules with a bound (`makespan/`)',
    imports: ['domain', 'schedules'],
  },
  'measured-profile': {
    about: 'the profile of a layer: measured slice times, their file, the fit, what to measure',
    imports: ['domain', 'model', 'cluster'],
  },
  'time-model': {
    about: 'time of a slice on a stage, of collectives and of P2P transfers',
    imports: ['domain', 'model', 'cluster', 'measured-profile'],
  },
  'memory-model': { about: 'bytes of a stage, tensor by tensor, over the order of a schedule', imports: ['domain', 'model', 'schedules'] },
  languages: {
    about:
      'the syntax of files, each parsed with places: `json/`, `yaml/`, `python/` and `shell/` are parsed or run as far as a text allows, `reads` reads words as values; knows no setting',
    imports: ['domain'],
  },
  run: {
    about: 'what files give, whatever their syntax: facts of a launcher, the run with its model, adapters and freezing of layers',
    imports: ['domain', 'model', 'cluster'],
  },
  huggingface: {
    about: 'config.json of Hugging Face: its reader, model families with their defaults, published models by name',
    imports: ['domain', 'model', 'languages', 'run'],
  },
  terapipe: {
    about: 'terapipe.json: its reader, a file for each section, changes of its text, `--set`',
    imports: ['domain', 'cluster', 'languages', 'run', 'huggingface'],
  },
  'slice-runtimes': { about: 'runtimes that run slices of a sequence: a folder for each', imports: ['domain'] },
  launchers: {
    about:
      "launchers' files, read and written: a folder for each launcher, `registry` lists them; `tables/` lists which flag or key sets what, `shell/` finds what a script launches, `writing/` is what writing shares, `counts`, `layout-sizes` and `stage-layers` what sizes and stages follow from settings",
    imports: ['domain', 'model', 'schedules', 'languages', 'run', 'huggingface', 'terapipe', 'slice-runtimes'],
  },
  checkpoints: {
    about: 'whether a checkpoint loads at another layout: a file for what each launcher does, `registry` lists them',
    imports: ['domain', 'run', 'launchers'],
  },
  partition: {
    about: 'layers to stages and stages to nodes',
    imports: ['domain', 'model', 'cluster', 'schedules', 'time-model', 'memory-model', 'run'],
  },
  planner: {
    about:
      'plans a request (`make-plan`): `candidates/` lists ways to run the step, `predict/` simulates them, `choose` takes one, `explain/` explains it; `lengths/` plans sequences of many lengths',
    imports: ['domain', 'model', 'cluster', 'schedules', 'slicing', 'time-model', 'memory-model', 'run', 'slice-runtimes', 'partition'],
  },
  'layout-search': {
    about: 'searches layouts: the space, its bounds, the engine, what would help',
    imports: [
      'domain',
      'model',
      'cluster',
      'schedules',
      'slicing',
      'time-model',
      'memory-model',
      'run',
      'launchers',
      'partition',
      'planner',
    ],
  },
  'plan-request': {
    about: 'makes the plan request of a run: fills in what the files leave open, each assumption with its reason',
    imports: [
      'domain',
      'model',
      'cluster',
      'schedules',
      'measured-profile',
      'time-model',
      'memory-model',
      'run',
      'terapipe',
      'launchers',
      'partition',
      'planner',
      'layout-search',
    ],
  },
  rules: {
    about:
      'findings: `table` lists the rules, `checks/` holds them by theme, `launchers/` what else is checked for a launcher, `plan/` what a plan shows and how to fix it',
    imports: [
      'domain',
      'model',
      'cluster',
      'schedules',
      'memory-model',
      'languages',
      'run',
      'terapipe',
      'slice-runtimes',
      'launchers',
      'checkpoints',
      'partition',
      'planner',
      'layout-search',
      'plan-request',
    ],
  },
  'config-files': {
    about:
      "the only entry point for files: recognises a format, reads it once, joins a launcher's file with its model config and its findings",
    imports: ['domain', 'measured-profile', 'languages', 'run', 'huggingface', 'terapipe', 'launchers', 'rules'],
  },
  export: {
    about:
      "writes plans out: JSON, launchers' files (each change read back), pictures, reports, and in `torch/` the folder that trains one with PyTorch",
    imports: [
      'domain',
      'model',
      'cluster',
      'schedules',
      'time-model',
      'memory-model',
      'run',
      'terapipe',
      'slice-runtimes',
      'launchers',
      'checkpoints',
      'partition',
      'planner',
      'layout-search',
      'plan-request',
      'rules',
      'config-files',
    ],
  },
};

/** A feature: what it does, and which rooms of the core and which other features (`features/NAME`) it may import, types included. */
export type Feature = CoreRoom;

/** Each is a folder of `src/features`; a feature imports only features above it in this table. Nothing in `src/core` imports a feature. */
export const features: Readonly<Record<string, Feature>> = {
  compare: {
    about:
      'a plan against another plan, a trace, step times or the log of a run (`core/logs`, a file for each trainer), and calibration to a measured step',
    imports: ['domain', 'model', 'cluster', 'schedules', 'memory-model', 'languages', 'partition', 'planner', 'plan-request'],
  },
  elastic: {
    about: 'runs that freeze layers: cuts, replicas, cache, epochs',
    imports: [
      'domain',
      'model',
      'schedules',
      'slicing',
      'time-model',
      'memory-model',
      'languages',
      'run',
      'terapipe',
      'plan-request',
      'launchers',
      'export',
    ],
  },
  rehearsal: {
    about:
      "a plan's step that is run here: its sizes, what its passes hand to each other, its clock, its gradients, measured and predicted",
    imports: ['domain', 'schedules', 'slicing', 'measured-profile', 'partition', 'planner', 'features/compare', 'export'],
  },
  prefill: {
    about: 'chunks of a prompt that is served, and what launches an engine with them',
    imports: [
      'domain',
      'model',
      'schedules',
      'slicing',
      'time-model',
      'memory-model',
      'run',
      'terapipe',
      'launchers',
      'planner',
      'plan-request',
    ],
  },
  diff: {
    about: 'what a change of configs does, between files, folders or git revisions',
    imports: ['memory-model', 'planner', 'features/compare'],
  },
  recovery: {
    about: 'what a run does when a node is lost or a stage is slow, priced',
    imports: ['domain', 'model', 'schedules', 'time-model', 'memory-model', 'planner', 'features/compare'],
  },
  where: {
    about: 'machines and prices, and how the best layouts on them rank',
    imports: ['domain', 'cluster', 'memory-model', 'run', 'terapipe', 'launchers', 'planner', 'layout-search', 'plan-request'],
  },
  days: {
    about: 'days, energy and cost of a whole run, with failures, checkpoints and restarts',
    imports: ['domain', 'model', 'planner', 'plan-request'],
  },
  largest: {
    about:
      'the longest sequence, largest micro-batch, most layers, experts or columns of adapters with which a run fits, or the fewest GPUs',
    imports: ['domain', 'memory-model', 'planner', 'layout-search', 'plan-request', 'run', 'terapipe', 'export'],
  },
  oom: {
    about: 'why a run ran out of memory, from its log or memory snapshot, and against the plan of its config',
    imports: ['domain', 'languages', 'memory-model', 'planner', 'plan-request', 'rules', 'run', 'terapipe', 'features/compare'],
  },
  agents: {
    about: 'tools for coding agents, each a file of `core/tools` and a row of `core/registry`, for `terapipe mcp` and SKILL.md',
    imports: [
      'domain',
      'cluster',
      'languages',
      'run',
      'huggingface',
      'terapipe',
      'launchers',
      'memory-model',
      'time-model',
      'schedules',
      'planner',
      'layout-search',
      'plan-request',
      'rules',
      'config-files',
      'export',
      'features/compare',
      'features/prefill',
      'features/largest',
      'features/oom',
      'features/where',
      'features/days',
    ],
  },
};

/** The layers of a feature, each a file or a folder of that name in `src/features/NAME`, and the house whose import rules it keeps. */
export const featureLayers: Readonly<Record<string, string>> = {
  core: 'src/core/',
  json: 'src/core/',
  protocol: 'src/protocol/',
  job: 'src/protocol/',
  worker: 'src/worker/',
  profiler: 'src/profiler/',
  cli: 'src/cli/',
  host: 'src/host/',
  vscode: 'src/extension/',
};

/** Where the import rules place a path: `src/features/recovery/cli` at `src/cli/features/recovery/cli`, others where they are. */
export function placeOf(path: string): string {
  const [, feature, layer = ''] = /^src\/features\/([^/]+)\/([^/.]+)/.exec(path) ?? [];
  return feature === undefined ? path : path.replace('src/', featureLayers[layer] ?? '');
}

/** What the faces use of the profiler: none of it loads ONNX Runtime. */
const profilerFaces = [
  'src/profiler/profile-run',
  'src/features/rehearsal/profiler/run',
  'src/profiler/folder',
  'src/profiler/store',
  'src/profiler/device',
  'src/profiler/onnx-file/run-of-onnx',
];

/**
 * A folder that is a program or a library of its own: what it may import of ours, and which packages it may name. A trailing slash means
 * everything in a folder.
 */
export interface House {
  readonly about: string;
  readonly files: readonly string[];
  readonly packages: readonly string[];
}

export const houses: Readonly<Record<string, House>> = {
  'src/core/': {
    about: 'pure planning: no `vscode`, no DOM, no disk, no clock, no randomness',
    files: ['src/core/'],
    packages: [
      'jsonc-parser',
      'valibot',
      'fastest-levenshtein',
      'papaparse',
      'diff',
      'yaml',
      'toml-eslint-parser',
      'web-tree-sitter',
      '@lezer/common',
      '@lezer/python',
    ],
  },
  'src/protocol/': {
    about: 'messages between threads and pages, and the one transport they travel on',
    files: ['src/protocol/', 'src/core/'],
    packages: ['valibot'],
  },
  'src/worker/': {
    about:
      'the planner in a process of its own, so that the memory it takes goes back; there `relay` passes messages between the client and the thread that plans (`serve`); `planners` answers each kind of request',
    files: ['src/worker/', 'src/host/planner/process', 'src/files/read-regular', 'src/protocol/', 'src/core/'],
    packages: ['node:', 'valibot'],
  },
  'src/host/': {
    about:
      'what VS Code and a page in a browser share: `sessions/` keeps the plan of each open config current, with its searches and what is tried; `pages/` makes the messages of pages; `planner/` asks a planner outside this thread, wherever it runs',
    files: ['src/host/', 'src/protocol/', 'src/core/'],
    packages: [],
  },
  'src/files/': {
    about: 'writes files to the disk: whole or not at all',
    files: ['src/files/', 'src/core/errors', 'src/core/sentence'],
    packages: ['node:'],
  },
  'src/profiler/': {
    about:
      'slice times measured with ONNX Runtime, which only the child process loads: `graph/` writes the ONNX graphs, `serve` answers, `cell-timer` times cells, `sessions` calls ONNX Runtime; in the parent `client` starts, watches, cancels and replaces the child, `diagnose` explains why a provider does not load, `measure` decides what to time, `store` keeps profiles',
    files: ['src/profiler/', 'src/files/', 'src/protocol/', 'src/core/'],
    packages: ['node:', 'onnxruntime-node', 'onnx-buf', '@bufbuild/protobuf', 'valibot'],
  },
  'src/cli/': {
    about:
      'the terminal front end: `main` prints help at once (`print-at-once`) or starts the thread of a command (`run-on-thread`, `command-thread`) and handles signals; `parts` loads code, of which `code-cache` keeps what V8 compiled',
    files: [
      'src/cli/',
      'src/features/compare/worker/measured-file',
      'src/features/agents/worker/serve-tools',
      'src/worker/relay',
      'src/features/oom/worker/read-evidence',
      ...profilerFaces,
      'src/files/',
      'src/core/',
      'package.json',
    ],
    // the protocol of agents, only in the bundle of `terapipe mcp`
    packages: ['node:', 'valibot', '@modelcontextprotocol/server', '@modelcontextprotocol/server/stdio'],
  },
  'src/api/': {
    about: 'what programs call (`api`): each function runs a command of the terminal on a thread of its own (`call`)',
    files: ['src/api/', 'src/cli/command-thread'],
    packages: ['node:'],
  },
  'src/extension/': {
    about: 'the VS Code front end: the only folder that imports `vscode`',
    files: ['src/extension/', 'src/host/', 'src/worker/process', ...profilerFaces, 'src/files/', 'src/protocol/', 'src/core/'],
    packages: ['node:', 'vscode', 'jsonc-parser'],
  },
  'src/web/': {
    about:
      'the page in a browser: `main` starts the host of the page that VS Code shows too, with files in memory (`files`) and planners in web workers (`planner-worker`, `worker`); `start` shows the first figures of a link while that is loaded; no server, nothing is sent',
    files: ['src/web/', 'src/host/', 'src/worker/serve', 'src/worker/planners', 'src/protocol/', 'src/core/'],
    packages: ['terapipe:wasm', 'terapipe:samples'],
  },
  'webview/': {
    about: 'the page that VS Code and browsers show: with `src/web` the only folder that touches the DOM',
    files: ['webview/', 'src/protocol/', 'src/core/'],
    packages: ['@vscode/webview-ui-toolkit'],
  },
};

/** A folder of the page: what is in it, and which others it may import, types included. Everybody may use `base`; no tab another. */
export interface WebviewRoom {
  readonly about: string;
  readonly imports: readonly string[];
}

const folderOfTabs = join(import.meta.dirname, '../../webview/tabs');

/** Folders of `webview/tabs` that declare a tab. */
export const tabFolders: readonly string[] = readdirSync(folderOfTabs).filter((name) => existsSync(join(folderOfTabs, name, 'tab.ts')));

/** A tab is described above its declaration. */
function tabRoom(name: string): WebviewRoom {
  const declared = readFileSync(join(folderOfTabs, name, 'tab.ts'), 'utf8');
  const [, about = ''] = /\/\*\* (.+?)\.? \*\/\nexport const \w+Tab: Tab/.exec(declared) ?? [];
  return { about: about.charAt(0).toLowerCase() + about.slice(1), imports: ['charts', 'shared'] };
}

export const webviewRooms: Readonly<Record<string, WebviewRoom>> = {
  '': { about: '`main` starts the page', imports: ['side-view', 'editor-tab'] },
  base: {
    about:
      '`host` talks to the extension, `hold` keeps its messages back while something is pressed, `store` has the last of them, `view-state` how the person looks at them, with the settings of tabs; `dom` makes elements, `ui` is the only file that names the webview UI toolkit; `theme` reads colours of VS Code for canvases, `strings` fills values into texts; `operations` finds operations of a timeline, `viewport` those in view; `actions` lists what commands ask of a page, `parts` goes from part to part and reports to the host which has the focus',
    imports: [],
  },
  charts: {
    about:
      'what canvases draw: `plot` has the box, the scale and the label font of each, `axis` has the marks, `tooltip` the box at the pointer, `chart` draws curves and points; `lanes/` the operations of each stage over time, with mouse and keys; `memory/` the parts of memory, as bars and over time',
    imports: [],
  },
  shared: {
    about: 'what both pages show: numbers, notices, reasons, findings, assumptions, the list of keys',
    imports: [],
  },
  tabs: {
    about: '`registry` lists the tabs, each a folder with a `tab` that declares it',
    imports: tabFolders.map((name) => `tabs/${name}`),
  },
  ...Object.fromEntries(tabFolders.map((name) => [`tabs/${name}`, tabRoom(name)])),
  inspector: { about: 'details of what is selected', imports: ['charts', 'shared'] },
  'side-view': {
    about: 'the narrow live view in the side bar',
    imports: ['charts', 'shared', 'tabs/elastic', 'tabs/profile', 'tabs/slices'],
  },
  'editor-tab': {
    about: 'the page in the editor: head, settings to try, exports, and the tabs put together; of a schedule CSV `schedule-page`',
    imports: ['charts', 'inspector', 'shared', 'tabs', 'tabs/elastic', 'tabs/timeline'],
  },
};

/** A folder of the extension: what is in it. */
export const extensionRooms: Readonly<Record<string, string>> = {
  sessions: 'what is planned, searched, compared and profiled for each open config, and where its files are',
  language: 'what the editor shows: lenses, hovers, inlay hints, diagnostics and quick fixes',
  views: 'the side panel, the tab, the explorer and the status bar',
  commands: 'the command palette, a file for each command',
  platform: 'the only folder that calls VS Code for what it shows as text and settings',
};
