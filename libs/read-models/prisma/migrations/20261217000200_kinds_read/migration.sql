-- How far a reader has read streams of the kinds that not every release follows: positions by the prefix of the streams. Earlier
-- releases leave the column alone. If one of their processes moves the checkpoint, the next process of this release reads what
-- that process passed over. No process writes such streams before this migration, so nothing was passed over until now.
ALTER TABLE consumer_checkpoints ADD COLUMN kinds_read jsonb NOT NULL DEFAULT '{}';
ALTER TABLE projection_checkpoints ADD COLUMN kinds_read jsonb NOT NULL DEFAULT '{}';
UPDATE consumer_checkpoints SET kinds_read = jsonb_build_object('statement-', position)
  WHERE consumer_group IN ('event-relay', 'webhook-dispatcher');
UPDATE projection_checkpoints SET kinds_read = jsonb_build_object('statement-', position)
  WHERE name IN ('directory', 'events');
UPDATE projection_checkpoints SET kinds_read = kinds_read || jsonb_build_object('approval-', position)
  WHERE name = 'directory';
