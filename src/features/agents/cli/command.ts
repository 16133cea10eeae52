import { sentence } from '../../../core/sentence';
import { defineCommand, usage } from '../../../cli/command';

/** `main` starts the server itself: here are its help, and what is wrong with other command lines. */
export const mcpCommand = defineCommand({
  takes: '[FOLDER]',
  description: 'a Model Context Protocol server on standard input and output, for coding agents',
  options: {},
  notes: `It reads files under FOLDER (the current one) and writes nothing. docs/agents.md has the
lines for each agent.`,
  start: () => {
    throw usage(sentence`mcp takes one folder and no options`, sentence`start it as terapipe mcp FOLDER`);
  },
});

export const skillCommand = defineCommand({
  takes: '',
  description: 'the SKILL.md that teaches coding agents to use terapipe',
  options: { out: { value: 'DIR', help: 'write DIR/terapipe/SKILL.md, as .claude/skills or .agents/skills' } },
  start:
    (_line, { out }) =>
    async (terminal) =>
      (await import('./skill')).skillAnswer(out ?? null, terminal),
});
