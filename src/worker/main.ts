import path from 'node:path';
import { relayPlanner } from './relay';

// The planner's code is in a bundle of its own, so that the thread that relays neither parses nor runs it.
relayPlanner(path.join(__dirname, 'planner.js'));
