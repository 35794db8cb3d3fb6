# The migration and the model of doc/searching.md: the table and its index are made by
# Active Record, and Article.search returns what SQL does.

require "active_record"
require "json"

ActiveRecord::Base.establish_connection(
  adapter: "postgresql", host: ENV.fetch("PGHOST"), port: ENV.fetch("PGPORT"),
  username: ENV.fetch("PGUSER"), database: ENV.fetch("PGDATABASE"))
load File.join(Dir.pwd, "library.rb")

cases = JSON.parse(File.read(File.join(__dir__, "cases.json")))
ActiveRecord::Migration.verbose = false
CreateArticles.migrate(:up)
cases["rows"].each { |title, body| Article.create!(title: title, body: body) }

connection = ActiveRecord::Base.connection
found = 0
cases["words"].each do |words|
  quoted = connection.quote(words)
  got = Article.search(words).limit(10).pluck(:id)
  wanted = connection.select_values(<<~SQL)
    SELECT id FROM articles WHERE tsv @@ websearch_to_tsquery('english', #{quoted})
    ORDER BY tsv <@> websearch_to_tsquery('english', #{quoted}), id LIMIT 10
  SQL
  raise "#{words}: #{got} instead of #{wanted}" unless got == wanted
  found += got.size
end
raise "#{found} rows found" unless found >= 5

connection.execute("SET enable_seqscan = off")
plan = Article.search("log").limit(10).explain
raise plan unless plan.include?("articles_search")
CreateArticles.migrate(:down)
puts "Active Record #{ActiveRecord.version}: #{found} rows found"
