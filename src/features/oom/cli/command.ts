import { defineCommand, usage } from '../../../cli/command';
import { configOptions } from '../../../cli/common-options';
import { sentence } from '../../../core/sentence';

/** Of the commands that plan memory. */
export const writeSnapshot = {
  value: 'TO',
  help: "write the plan's memory to this new file as a snapshot for PyTorch's memory viewer (pytorch.org/memory_viz), a device for each stage",
} as const;

export const oomCommand = defineCommand({
  takes: 'LOG [FILE]',
  description: 'why a run ran out of memory, from its log or memory snapshot, and what to do first',
  options: { ...configOptions, 'write-snapshot': writeSnapshot },
  notes: `LOG of oom is a log with PyTorch's error, or with memory as Megatron-LM, TorchTitan,
DeepSpeed or nvidia-smi print it, or a snapshot of torch.cuda.memory._dump_snapshot. With
FILE, the config of the run, it is compared with the plan, and fixes are priced.`,
  start: (line, given) => {
    const [log = line.path, config, ...more] = line.paths;
    if (more.length > 0) throw usage(sentence`oom takes LOG and the config of its run`, sentence`name one of each`);
    const asked = config === undefined ? null : { ...line, path: config, paths: [config] };
    const out = given['write-snapshot'] ?? null;
    if (out !== null && asked === null) throw usage(sentence`--write-snapshot needs the config of the run`, sentence`name it after LOG`);
    return async (terminal, texts) => (await import('./answer')).oomAnswer(log, asked, out, terminal, texts);
  },
});
