#pragma once
// The files that a path to TFRecords names.

#include <string>
#include <vector>

namespace assay {

/// The files *.tfrecord* of the folder `path`, or the file `path`; else the files whose names match
/// the pattern `path`; else the files whose names begin with it. They are in the order of names (of
/// bytes), without folders. The name of a file or folder that exists is never a pattern. InputError
/// for a folder that cannot be read. InputError also for a missing shard: if files are named
/// -00000-of-00004, all shards that the path names must exist.
std::vector<std::string> tfrecord_files(const std::string& path);

}  // namespace assay
