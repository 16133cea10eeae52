/*
 * Who may import whom. `architecture.test.ts` enforces these tables, and `npm run docs -- --write` writes src/README.md and webview/README.md from them.
 */

/** A folder of src/core: what is in it, and which of the others it may import, at run time and (after the bar) as types alone. Everybody may use core's own files. */
export interface CoreRoom {
  readonly about: string;
  readonly values: readonly string[];
  readonly types: readonly string[];
}

export const coreRooms: Readonly<Record<string, CoreRoom>> = {
  cluster: { about: 'GPU presets, links, groups of nodes', values: [], types: [] },
  model: { about: 'parameters, FLOPs, kinds of layers, recompute, optimizers, runtimes', values: [], types: [] },
  solver: { about: 'the TeraPipe program: slices with a proof of optimality', values: [], types: ['cost'] },
  schedule: { about: "orders of operations, their simulation, idle time, PyTorch's CSV", values: [], types: ['solver'] },
  profile: { about: 'measured slice times: the file, the fit, what to measure', values: ['model', 'cluster'], types: ['planner'] },
  cost: { about: 'time of a slice on a stage, of collectives and sends', values: ['model', 'cluster', 'profile'], types: ['planner'] },
  memory: { about: 'bytes of a stage, tensor by tensor, over the order of a schedule', values: ['schedule', 'model'], types: ['planner'] },
  config: {
    about: 'reads files into located values: Hugging Face, terapipe.json, launchers',
    values: ['model', 'cluster', 'schedule', 'profile'],
    types: ['cost', 'solver', 'planner'],
  },
  launch: {
    about: "joins a launcher's file with its model config, and says what the launcher would refuse",
    values: ['config', 'model', 'cluster', 'schedule'],
    types: ['planner'],
  },
  planner: {
    about: 'resolves a request, predicts candidates, chooses one; searches layouts; findings and fixes',
    values: ['solver', 'schedule', 'memory', 'cost', 'profile', 'model', 'cluster', 'config'],
    types: [],
  },
  compare: {
    about: 'a plan against another plan, a trace or step times',
    values: ['planner', 'schedule', 'memory', 'cluster', 'config'],
    types: [],
  },
  export: {
    about: "writes plans out: JSON, launchers' files (each change read back), pictures, reports",
    values: ['compare', 'planner', 'elastic', 'solver', 'schedule', 'memory', 'cost', 'profile', 'model', 'cluster', 'config', 'launch'],
    types: [],
  },
  elastic: {
    about: 'runs that freeze layers: cuts, replicas, cache, epochs',
    values: ['planner', 'solver', 'schedule', 'memory', 'cost', 'model', 'cluster', 'config'],
    types: [],
  },
};

/** What the faces use of the profiler: none of it loads ONNX Runtime. */
const profilerFaces = ['src/profiler/profile-run', 'src/profiler/store', 'src/profiler/onnx-file/run-of-onnx'];

/** A folder that is a program or a library of its own: what it may import of ours, and which packages it may name. A trailing slash stands for everything in a folder. */
export interface House {
  readonly about: string;
  readonly files: readonly string[];
  readonly packages: readonly string[];
}

export const houses: Readonly<Record<string, House>> = {
  'src/core/': {
    about: 'pure planning: no `vscode`, no DOM, no disk, no clock, no randomness',
    files: ['src/core/'],
    packages: ['jsonc-parser', 'valibot', 'fastest-levenshtein', 'papaparse', 'yaml', 'toml-eslint-parser', 'web-tree-sitter'],
  },
  'src/protocol/': {
    about: 'messages between threads and pages, and the one transport they travel on',
    files: ['src/protocol/', 'src/core/'],
    packages: ['valibot'],
  },
  'src/worker/': {
    about:
      'the planner in a process of its own, so that the memory it takes goes back, and its client; there `relay` stands between the client and the thread that plans (`serve`)',
    files: ['src/worker/', 'src/protocol/', 'src/core/'],
    packages: ['node:'],
  },
  'src/files/': { about: 'writes files to the disk: whole or not at all', files: ['src/files/', 'src/core/errors'], packages: ['node:'] },
  'src/profiler/': {
    about:
      'slice times measured with ONNX Runtime, which only the child process loads: `graph/` writes the ONNX graphs, `serve` answers, `cell-timer` times cells, `sessions` calls ONNX Runtime; in the parent `client` starts, watches, cancels and replaces the child, `diagnose` says why a provider does not load, `measure` decides what to time, `store` keeps profiles',
    files: ['src/profiler/', 'src/files/', 'src/protocol/', 'src/core/'],
    packages: ['node:', 'onnxruntime-node', 'onnx-buf', '@bufbuild/protobuf', 'valibot'],
  },
  'src/cli/': {
    about: 'the terminal face: `main` prints and minds signals, the command runs on a thread of its own (`command-thread`)',
    files: ['src/cli/', 'src/worker/measured-file', ...profilerFaces, 'src/files/', 'src/core/'],
    packages: ['node:', 'jsonc-parser', 'valibot'],
  },
  'src/extension/': {
    about: 'the VS Code face: the only folder that imports `vscode`',
    files: ['src/extension/', 'src/worker/client', ...profilerFaces, 'src/files/', 'src/protocol/', 'src/core/'],
    packages: ['node:', 'vscode', 'jsonc-parser', 'valibot'],
  },
  'webview/': {
    about: 'the page that VS Code shows: the only folder that touches the DOM',
    files: ['webview/', 'src/protocol/', 'src/core/'],
    packages: ['@vscode/webview-ui-toolkit'],
  },
};

/** A folder of the page: what is in it, and which others it may import, types included. Everybody may use the page's own files, which are under the empty name. */
export interface WebviewRoom {
  readonly about: string;
  readonly imports: readonly string[];
}

export const webviewRooms: Readonly<Record<string, WebviewRoom>> = {
  '': {
    about:
      '`main` starts the page, `host` talks to the extension, `store` holds what it said, `view-state` how the person looks at it; `dom` makes elements, `ui` is the only file that names the webview UI toolkit; `theme` reads colours of VS Code for canvases, `strings` gives text by its English',
    imports: ['compare', 'elastic', 'layout', 'side', 'tab', 'timeline'],
  },
  shared: { about: 'what both pages show: numbers, notices, reasons, findings, assumptions', imports: ['layout'] },
  chart: { about: 'axes, curves and points of any chart', imports: ['profile', 'timeline'] },
  timeline: {
    about: 'viewport, level of detail, drawing, mouse and keys, find, table twin, critical path',
    imports: ['memory', 'shared'],
  },
  memory: { about: 'bars per stage, and the lane under the timeline', imports: ['shared', 'timeline'] },
  slices: { about: 'the sequence cut as the paper draws it', imports: ['shared', 'timeline'] },
  compare: { about: 'candidates, and another plan or run, at one time scale', imports: ['layout', 'shared', 'timeline'] },
  layout: { about: 'what a search of layouts found', imports: ['chart', 'shared'] },
  profile: { about: 'measured times against their fit', imports: ['chart', 'shared', 'tab', 'timeline'] },
  elastic: { about: 'epochs of a run that freezes layers, over its GPUs', imports: ['shared', 'timeline'] },
  inspector: { about: 'details of what is selected', imports: ['layout', 'schedule', 'shared', 'timeline'] },
  schedule: { about: 'the page of a schedule CSV', imports: ['inspector', 'shared', 'tab', 'timeline'] },
  side: { about: 'the narrow live view', imports: ['elastic', 'memory', 'profile', 'shared', 'slices', 'timeline'] },
  tab: {
    about: 'the editor tab: toolbar, exports, help, and the views put together',
    imports: ['compare', 'elastic', 'inspector', 'layout', 'memory', 'profile', 'schedule', 'shared', 'slices', 'timeline'],
  },
};
