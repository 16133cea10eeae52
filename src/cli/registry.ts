import type { Command } from './command';
import { checkCommand } from './commands/check';
import { daysCommand } from '../features/days/cli/command';
import { diffCommand } from '../features/diff/cli/command';
import { elasticCommand } from '../features/elastic/cli/command';
import { exportCommand } from './commands/export';
import { inspectCommand } from './commands/inspect';
import { mcpCommand, skillCommand } from '../features/agents/cli/command';
import { maxCommand } from '../features/largest/cli/command';
import { memoryCommand } from './commands/memory';
import { oomCommand } from '../features/oom/cli/command';
import { planCommand } from './commands/plan';
import { prefillCommand } from '../features/prefill/cli/command';
import { profileCommand } from './commands/profile';
import { rehearseCommand } from '../features/rehearsal/cli/command';
import { simulateCommand } from './commands/simulate';
import { solveCommand } from './commands/solve';
import { whereCommand } from '../features/where/cli/command';

/** Every command, in the order of the help. */
export const commands: Readonly<Record<string, Command>> = {
  plan: planCommand,
  where: whereCommand,
  days: daysCommand,
  max: maxCommand,
  memory: memoryCommand,
  oom: oomCommand,
  prefill: prefillCommand,
  check: checkCommand,
  diff: diffCommand,
  inspect: inspectCommand,
  profile: profileCommand,
  rehearse: rehearseCommand,
  elastic: elasticCommand,
  solve: solveCommand,
  simulate: simulateCommand,
  export: exportCommand,
  mcp: mcpCommand,
  skill: skillCommand,
};
