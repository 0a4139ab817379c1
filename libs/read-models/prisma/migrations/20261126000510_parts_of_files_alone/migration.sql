-- A file of ten thousand entries has some parts under its own key. They are destroyed without reading the others.
CREATE INDEX rail_file_parts_of_file_alone ON rail_file_parts (file_id) WHERE owner LIKE 'railArchive:file/%';
