import type { Tool } from './tool';
import { calibrateTool } from './tools/calibrate';
import { checkTool } from './tools/check';
import { compareTool } from './tools/compare';
import { daysTool } from './tools/days';
import { inspectTool } from './tools/inspect';
import { maxTool } from './tools/max';
import { memoryTool } from './tools/memory';
import { oomTool } from './tools/oom';
import { patchTool } from './tools/patch';
import { planTool } from './tools/plan';
import { prefillTool } from './tools/prefill';
import { searchTool } from './tools/search';
import { slicesTool } from './tools/slices';
import { valuesTool } from './tools/values';
import { whereTool } from './tools/where';

/** Every tool by its name, in the order in which they are listed. */
export const tools = {
  terapipe_inspect: inspectTool,
  terapipe_check: checkTool,
  terapipe_memory: memoryTool,
  terapipe_plan: planTool,
  terapipe_search: searchTool,
  terapipe_compare: compareTool,
  terapipe_values: valuesTool,
  terapipe_max: maxTool,
  terapipe_oom: oomTool,
  terapipe_where: whereTool,
  terapipe_days: daysTool,
  terapipe_patch: patchTool,
  terapipe_calibrate: calibrateTool,
  terapipe_slices: slicesTool,
  terapipe_prefill: prefillTool,
} as unknown as Readonly<Record<string, Tool>>;
