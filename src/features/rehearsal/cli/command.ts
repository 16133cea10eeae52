import { providerNames } from '../../../core/domain/profile';
import { parseCount, defineCommand, parseChoice } from '../../../cli/command';
import { configOptions, schedule, withSchedule } from '../../../cli/common-options';

/** Measured steps by default. */
const defaultSteps = 5;

export const rehearseCommand = defineCommand({
  takes: 'FILE',
  description: "run the plan's step on this machine with ONNX Runtime, up to the gradients",
  options: {
    ...configOptions,
    schedule,
    layers: { value: 'N', help: 'layers of the model, of all stages together (as many as fit into memory)' },
    hidden: { value: 'N', help: "width, for a model of the same proportions (the model's)" },
    sequence: { value: 'N', help: "tokens of a sequence, cut in the plan's proportions (the plan's)" },
    batch: { value: 'N', help: "sequences of a step (the plan's)" },
    stages: { value: 'N', help: "stages (the plan's)" },
    steps: { value: 'N', help: `steps to measure, of which the median counts (${defaultSteps})` },
    clock: {
      value: 'NAME',
      help: 'real: a process for each stage, in parallel (where there is a core for each); virtual: one after the other, measured times put on the clock of the schedule',
    },
    provider: { value: 'NAME', help: 'execution provider: cuda, dml, coreml, webgpu or cpu (cpu)' },
    out: { value: 'PATH', help: 'write the measured step as a Chrome trace, which plan --compare reads' },
    schemes: { help: "rank five cuts of the sequence instead: whole, in equal slices, the dynamic program's and of equal work" },
    yes: { help: 'also where it may take longer than a minute' },
  },
  start: (plainLine, given) => {
    const line = withSchedule(plainLine, given.schedule);
    const options = {
      scale: {
        layers: parseCount('--layers', given.layers),
        hidden: parseCount('--hidden', given.hidden),
        sequence: parseCount('--sequence', given.sequence),
        batch: parseCount('--batch', given.batch),
        stages: parseCount('--stages', given.stages),
      },
      steps: parseCount('--steps', given.steps) ?? defaultSteps,
      clock: given.clock === undefined ? null : parseChoice(['real', 'virtual'] as const, given.clock, 'no clock'),
      provider: given.provider === undefined ? ('cpu' as const) : parseChoice(providerNames, given.provider, 'no provider'),
      out: given.out ?? null,
      schemes: given.schemes ?? false,
      yes: given.yes ?? false,
    };
    return async (terminal, texts) => {
      const { rehearseAnswer } = await import('./answer');
      const { planNearby } = await import('../../../cli/planned');
      const { namedConfig, runConfig } = await import('../../../cli/read-config');
      const config = await runConfig(await namedConfig(line, terminal, texts), line, texts);
      return rehearseAnswer(await planNearby(config, line.defaults, terminal.status), options, terminal);
    };
  },
});
